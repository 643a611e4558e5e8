package anchor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

const (
	witnessLimit   = 5 * time.Second // for one witness to answer
	witnessAbreast = 16              // ledgers at a time
)

// PolicyUsage is the usage text of a flag whose value [ReadPolicy] reads.
const PolicyUsage = "`file` with the policy (C2SP tlog-policy) that names witnesses, and how many have to cosign checkpoints"

// ReadPolicy reads the file of a policy.
func ReadPolicy(file string) (*transparency.Policy, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("witness policy: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, transparency.MaxPolicyBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("witness policy: %w", err)
	}
	policy, err := transparency.ParsePolicy(text)
	if err != nil {
		return nil, fmt.Errorf("witness policy %s: %w", file, err)
	}
	return &policy, nil
}

// witnesses have the newest checkpoints of the ledgers cosigned, behind the
// ledgers' back, and keep the newest that the policy is met by beside the ledger.
type witnesses struct {
	*rounds

	policy *transparency.Policy
	known  note.Verifiers // of the ledgers
	client *witness.Client
	seats  seats
	stored func(tenant string) // told when a cosigned checkpoint was kept
}

func newWitnesses(o Options) *witnesses {
	w := &witnesses{policy: o.Witnesses, known: o.Keys, client: witness.NewClient(), stored: func(string) {}}
	w.rounds = newRounds(o, "by its witnesses", w.cosign)
	w.abreast, w.release = witnessAbreast, w.client.Close
	w.seats = newSeats(o)
	return w
}

// ValidatePolicy says what is wrong with a policy for somebody who has to ask
// the witnesses.
func ValidatePolicy(policy *transparency.Policy) error {
	if policy == nil || len(policy.Witnesses) == 0 ||
		slices.ContainsFunc(policy.Witnesses, func(w transparency.Witness) bool { return w.URL != "" }) {
		return nil
	}
	return errors.New("witness policy: none of its witnesses has a URL: add to a line of a witness where it takes checkpoints")
}

// cosign has the newest checkpoint of one ledger cosigned.
func (w *witnesses) cosign(ctx context.Context, tenant string) (err error) {
	r, err := ledger.OpenTenant(w.ledgerDir, tenant)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	signed, c, err := r.Tree().SignedTree(ctx)
	if err == nil {
		_, err = ledger.OpenCheckpoint(signed, w.known)
	}
	if err != nil || c.Size == 0 { // nobody can take away what is not there
		return err
	}
	if !w.policy.Check(signed).Log {
		return errors.New("the policy's log lines name other keys than that of the ledgers: add a line with it, which auditor key prints")
	}
	path, err := ledger.Path(w.ledgerDir, tenant)
	if err != nil {
		return err
	}
	kept, err := ledger.ReadWitnessed(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if bytes.HasPrefix(kept, signed) { // some have cosigned it before
		signed = kept
	}
	cosigned, errs := w.ask(ctx, tenant, r, signed, c)
	if ctx.Err() != nil {
		w.changed(tenant) // who was interrupted is asked again before the auditor ends
	}
	return w.keep(tenant, path, cosigned, kept, errs)
}

// keep keeps what was cosigned, unless that is less than what is kept, and says
// whether it is enough.
func (w *witnesses) keep(tenant, path string, cosigned, kept []byte, errs error) error {
	found := w.policy.Check(cosigned)
	// What meets the policy is not given up for what does not.
	if !bytes.Equal(cosigned, kept) && (found.Met() || !w.policy.Check(kept).Met()) {
		if err := ledger.WriteWitnessed(path, cosigned); err != nil {
			return err
		}
		w.stored(tenant)
	}
	if !found.Met() {
		return fmt.Errorf("%s have cosigned it: %w", found, errs)
	}
	return nil
}

// ask asks all witnesses at once that have not cosigned the note yet, and returns
// it with the cosignatures that came, and why others did not.
func (w *witnesses) ask(
	ctx context.Context, tenant string, r *ledger.Reader, signed []byte, c ledger.Checkpoint,
) (cosigned []byte, err error) {
	has := make(map[string]bool)
	for _, by := range w.policy.Check(signed).By {
		has[by.Witness] = true
	}
	type said struct {
		number int
		line   []byte
		err    error
	}
	answers := make(chan said, len(w.policy.Witnesses))
	asked := 0
	for i, one := range w.policy.Witnesses {
		if has[one.Name] || one.URL == "" {
			continue
		}
		asked++
		go func() {
			line, err := w.askOne(ctx, tenant, i, witness.Checkpoint{
				Note: signed, Size: c.Size,
				Prove: func(ctx context.Context, old int64) ([]tlog.Hash, error) { return proveTree(ctx, r, old, c.Size) },
			})
			answers <- said{i, line, err}
		}()
	}
	lines, errs := make([][]byte, len(w.policy.Witnesses)), make([]error, len(w.policy.Witnesses))
	for range asked {
		s := <-answers
		lines[s.number], errs[s.number] = s.line, s.err
	}
	if err = errors.Join(errs...); err == nil { // all have who can be asked
		err = errors.New("the policy asks for more than have a URL")
	}
	return append(bytes.Clone(signed), bytes.Join(lines, nil)...), err
}

// proveTree returns the proof that the tree of size leaves continues its first old.
func proveTree(ctx context.Context, r *ledger.Reader, old, size int64) ([]tlog.Hash, error) {
	return tlog.ProveTree(size, old, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return r.Tree().Hashes(ctx, indexes)
	}))
}

// askOne asks one witness, unless it has failed just now.
func (w *witnesses) askOne(ctx context.Context, tenant string, number int, c witness.Checkpoint) ([]byte, error) {
	at := seat{tenant, number}
	old, err := w.seats.ask(at)
	if err == nil {
		var unproved error
		prove := c.Prove
		c.Prove = func(ctx context.Context, old int64) (proof []tlog.Hash, err error) {
			proof, unproved = prove(ctx, old)
			return proof, unproved
		}
		var line []byte
		limited, cancel := context.WithTimeout(ctx, witnessLimit)
		defer cancel()
		if line, err = w.client.Cosign(limited, w.policy.Witnesses[number], c, old); err == nil {
			w.seats.signed(ctx, at, c.Size, w.policy.Witnesses[number].Name)
			return line, nil
		}
		// What one ledger cannot prove is no fault of the witness: it is asked about others.
		if ctx.Err() == nil && unproved == nil {
			w.seats.failed(ctx, at, err, w.policy.Witnesses[number].Name)
		}
	}
	return nil, fmt.Errorf("witness %s: %w", w.policy.Witnesses[number].Name, err)
}
