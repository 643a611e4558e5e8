package auditor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// proving are the flags of proof.
type proving struct {
	file, bundle, out string
	why               purpose
}

func proofCommand(shared *cli.Shared) *cobra.Command {
	var p proving
	cmd := &cobra.Command{
		Use:   "proof EVENT",
		Short: "Prove that one event is in the ledger",
		Long: `Print the proof that an event is in the ledger: a C2SP tlog-proof, text of about
a kilobyte. It holds the event's leaf (who recorded what kind of event when, and
the SHA-256 of its bytes), the hashes that lead from it to the root, and the
signed checkpoint. It does not hold what the event says.

Who has the public key can check it: with auditor verify --proof, or with any
tool that knows the format. Proof reads the ledger and needs no server. Who asks
for which and why (--by, --reason, --ticket) is put on record first; see auditor
access.

With --bundle take the proof from a bundle, which auditor export wrote: it is the
one that the ledger gave then. A bundle keeps no record of who asked.`,
		Example: `  auditor proof 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 > e.tlog-proof
  auditor proof 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 --bundle r-42.zip > e.tlog-proof
  auditor verify --proof e.tlog-proof --key ledger.pub --event e.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, shared, args[0]) },
	}
	cmd.Flags().StringVar(&p.file, "ledger", "", "`file` of the ledger; default is the tenant's in the data directory")
	cmd.Flags().StringVar(&p.bundle, "bundle", "", "`file` of a bundle to take the proof from, instead of a ledger")
	p.why.register(cmd.Flags())
	cmd.Flags().StringVar(&p.out, "out", "", "`file` to write the proof to, which must not be there yet; default is stdout")
	for _, of := range []string{"ledger", "by", "reason", "ticket"} {
		cmd.MarkFlagsMutuallyExclusive("bundle", of)
	}
	return cmd
}

func (p proving) run(cmd *cobra.Command, shared *cli.Shared, id string) error {
	proof, err := p.prove(cmd, shared, id)
	if err != nil {
		return err
	}
	if p.out != "" {
		return writeTo(p.out, nil, func(w io.Writer) error {
			_, err := w.Write(proof.Encode())
			return err
		})
	}
	result := map[string]any{"leaf": proof.Index, "proof": string(proof.Encode())}
	return cli.Print(cmd, shared, result, func(out io.Writer) { fmt.Fprintf(out, "%s", proof.Encode()) })
}

// prove returns the proof of the event with that id.
func (p proving) prove(cmd *cobra.Command, shared *cli.Shared, id string) (transparency.Proof, error) {
	if p.bundle != "" {
		shared.Logger(cmd).WarnContext(cmd.Context(), "this use of evidence is not on record: the proof comes from a bundle", "bundle", p.bundle)
		return proveFromBundle(cmd.Context(), p.bundle, id, shared.Tenant)
	}
	return proveEvent(cmd, shared, p.file, id, p.why)
}

// proveFromBundle returns the proof of the event with that id from a bundle; with
// a tenant, from that one's.
func proveFromBundle(ctx context.Context, path, id, tenant string) (transparency.Proof, error) {
	p, err := bundle.Prove(ctx, path, id)
	if errors.Is(err, ledger.ErrNoLeaf) {
		return transparency.Proof{}, fmt.Errorf("event %q is not in bundle %s", id, path)
	}
	if err != nil {
		return transparency.Proof{}, err
	}
	c, err := ledger.ReadCheckpoint(p.Checkpoint)
	if err == nil && tenant != "" && c.Tenant != tenant {
		err = fmt.Errorf("bundle %s is of tenant %q", path, c.Tenant)
	}
	return proofOf(p), err
}

// proveEvent returns the proof of the event with that id from a ledger.
func proveEvent(cmd *cobra.Command, shared *cli.Shared, file, id string, why purpose) (p transparency.Proof, err error) {
	ctx := cmd.Context()
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), file)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := recordRead(cmd, shared, r, file, why.access(events.AuditProof, events.AuditSelection{Event: id})); err != nil {
		return p, err
	}
	e, ok, err := r.Find(ctx, id)
	if err != nil {
		return p, err
	}
	if !ok {
		return p, fmt.Errorf("event %q is not in the ledger of tenant %q", id, r.Tenant())
	}
	return ProveLeaf(ctx, r, e.Leaf)
}

// ProveLeaf returns the proof of one leaf of a ledger, which has the leaf's bytes
// with it: below the checkpoint that witnesses have cosigned last where it is among
// those leaves, below the newest one otherwise.
func ProveLeaf(ctx context.Context, r *ledger.Reader, leaf int64) (transparency.Proof, error) {
	// What witnesses have cosigned proves more, and is seldom much older.
	p, ok, err := r.Tree().ProveWitnessed(ctx, leaf)
	if err == nil && !ok {
		p, err = r.Tree().Prove(ctx, leaf)
	}
	if errors.Is(err, ledger.ErrDamaged) {
		err = fmt.Errorf("%w (auditor verify tells what is wrong)", err)
	}
	return proofOf(p), err
}

func proofOf(p ledger.Proof) transparency.Proof {
	return transparency.Proof{Extra: p.Leaf, Index: p.Index, Path: p.Path, Checkpoint: p.Checkpoint}
}
