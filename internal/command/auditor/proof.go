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

type proofFlags struct {
	file, bundle, out string
	why               purpose
}

func proofCommand(shared *cli.Shared) *cobra.Command {
	var p proofFlags
	cmd := &cobra.Command{
		Use:   "proof EVENT",
		Short: "Prove that one event is in the ledger",
		Long: `Print the proof that an event is in the ledger. It is a C2SP tlog-proof, a text of
about a kilobyte. It contains the leaf of the event (its producer, kind, time and
SHA-256), the hashes up to the root, and the signed checkpoint. It does not contain
the payload.

Check the proof with the public key, using auditor verify --proof or any tool that
knows the format. Proof reads the ledger file and needs no server. It is recorded
first, with --by, --reason and --ticket; see auditor access.

With --bundle, take the proof from a bundle made by auditor export. The use of a
bundle is not recorded.`,
		Example: `  auditor proof 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 > e.tlog-proof
  auditor proof 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01 --bundle r-42.zip > e.tlog-proof
  auditor verify --proof e.tlog-proof --key ledger.pub --event e.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, shared, args[0]) },
	}
	registerLedger(cmd.Flags(), &p.file)
	cmd.Flags().StringVar(&p.bundle, "bundle", "", "`file` of a bundle to take the proof from, instead of a ledger")
	p.why.register(cmd.Flags())
	cmd.Flags().StringVar(&p.out, "out", "", "new `file` to write the proof to; default is stdout")
	for _, of := range []string{"ledger", "by", "reason", "ticket"} {
		cmd.MarkFlagsMutuallyExclusive("bundle", of)
	}
	return cmd
}

func (p proofFlags) run(cmd *cobra.Command, shared *cli.Shared, id string) error {
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

func (p proofFlags) prove(cmd *cobra.Command, shared *cli.Shared, id string) (transparency.Proof, error) {
	if p.bundle != "" {
		shared.Logger(cmd).WarnContext(cmd.Context(), "use of evidence not recorded, the proof comes from a bundle", "bundle", p.bundle)
		return proveFromBundle(cmd.Context(), p.bundle, id, shared.Tenant)
	}
	return proveEvent(cmd, shared, p.file, id, p.why)
}

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
		err = fmt.Errorf("bundle %s belongs to tenant %q", path, c.Tenant)
	}
	return proofOf(p), err
}

func proveEvent(cmd *cobra.Command, shared *cli.Shared, file, id string, why purpose) (p transparency.Proof, err error) {
	ctx := cmd.Context()
	r, err := openRecorded(cmd, shared, file, why.access(events.AuditProof, events.AuditSelection{Event: id}))
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	e, ok, err := r.Find(ctx, id)
	if err != nil {
		return p, err
	}
	if !ok {
		return p, fmt.Errorf("event %q is not in the ledger of tenant %q", id, r.Tenant())
	}
	p, err = ProveLeaf(ctx, r, e.Leaf)
	p.Checkpoint = ledger.Countersigned(p.Checkpoint, r.Tenant(), rotations(shared.DataDir))
	return p, err
}

// ProveLeaf returns the proof that a leaf is in the ledger. The proof uses the newest cosigned
// checkpoint, or the newest checkpoint if no cosigned checkpoint covers the leaf.
func ProveLeaf(ctx context.Context, r *ledger.Reader, leaf int64) (transparency.Proof, error) {
	p, ok, err := r.Tree().ProveWitnessed(ctx, leaf)
	if err == nil && !ok {
		p, err = r.Tree().Prove(ctx, leaf)
	}
	if errors.Is(err, ledger.ErrDamaged) {
		err = fmt.Errorf("%w (auditor verify shows the damage)", err)
	}
	return proofOf(p), err
}

func proofOf(p ledger.Proof) transparency.Proof {
	return transparency.Proof{Extra: p.Leaf, Index: p.Index, Path: p.Path, Checkpoint: p.Checkpoint}
}
