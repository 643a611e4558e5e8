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
	witnessTimeout = 5 * time.Second // of one request
	witnessWorkers = 16              // ledgers at a time
)

// PolicyUsage is the help text of a flag that names a file for [ReadPolicy].
const PolicyUsage = "`file` with the witness policy (C2SP tlog-policy): the witnesses, and how many must cosign a checkpoint"

// ReadPolicy reads and parses a policy file.
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

type witnessAnchor struct {
	uploads   *uploads
	ledgerDir string
	policy    *transparency.Policy
	keys      note.Verifiers // may have signed the ledgers
	client    *witness.Client
	backoff   *backoff
	stored    func(tenant string)
}

func newWitnessAnchor(o Options) *witnessAnchor {
	w := &witnessAnchor{
		ledgerDir: o.LedgerDir, policy: o.Witnesses, keys: o.Keys, client: witness.NewClient(),
		backoff: newBackoff(o), stored: func(string) {},
	}
	w.uploads = newUploads(o, "by its witnesses", w.cosign)
	w.uploads.workers, w.uploads.release = witnessWorkers, w.client.Close
	return w
}

// ValidatePolicy returns an error if the policy has witnesses but no witness has a URL.
func ValidatePolicy(policy *transparency.Policy) error {
	if policy == nil || len(policy.Witnesses) == 0 ||
		slices.ContainsFunc(policy.Witnesses, func(w transparency.Witness) bool { return w.URL != "" }) {
		return nil
	}
	return errors.New("witness policy: no witness has a URL: add the submission URL to a witness line")
}

func (w *witnessAnchor) cosign(ctx context.Context, tenant string) (err error) {
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
		_, err = ledger.OpenCheckpoint(signed, w.keys)
	}
	if err != nil || c.Size == 0 { // an empty ledger needs no cosignature
		return err
	}
	if !w.policy.Check(signed).Log {
		return errors.New("the policy's log lines do not name the key of the ledgers: add the line that auditor key prints")
	}
	path, err := ledger.Path(w.ledgerDir, tenant)
	if err != nil {
		return err
	}
	kept, err := ledger.ReadWitnessed(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if bytes.HasPrefix(kept, signed) { // kept has the cosignatures so far
		signed = kept
	}
	cosigned, errs := w.ask(ctx, tenant, r, signed, c)
	if ctx.Err() != nil {
		w.uploads.changed(tenant) // Finish asks the interrupted witnesses again
	}
	return w.store(tenant, path, cosigned, kept, errs)
}

func (w *witnessAnchor) store(tenant, path string, cosigned, storedNote []byte, errs error) error {
	found := w.policy.Check(cosigned)
	if !bytes.Equal(cosigned, storedNote) && (found.Met() || !w.policy.Check(storedNote).Met()) {
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

func (w *witnessAnchor) ask(
	ctx context.Context, tenant string, r *ledger.Reader, signed []byte, c ledger.Checkpoint,
) (cosigned []byte, err error) {
	has := make(map[string]bool)
	for _, by := range w.policy.Check(signed).By {
		has[by.Witness] = true
	}
	type answer struct {
		number int
		line   []byte
		err    error
	}
	answers := make(chan answer, len(w.policy.Witnesses))
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
			answers <- answer{i, line, err}
		}()
	}
	lines, errs := make([][]byte, len(w.policy.Witnesses)), make([]error, len(w.policy.Witnesses))
	for range asked {
		s := <-answers
		lines[s.number], errs[s.number] = s.line, s.err
	}
	if err = errors.Join(errs...); err == nil { // every witness with a URL has cosigned
		err = errors.New("the policy needs more witnesses than have a URL")
	}
	return append(bytes.Clone(signed), bytes.Join(lines, nil)...), err
}

func proveTree(ctx context.Context, r *ledger.Reader, old, size int64) ([]tlog.Hash, error) {
	return tlog.ProveTree(size, old, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return r.Tree().Hashes(ctx, indexes)
	}))
}

func (w *witnessAnchor) askOne(ctx context.Context, tenant string, number int, c witness.Checkpoint) ([]byte, error) {
	of := target{tenant, number}
	old, err := w.backoff.size(of)
	if err == nil {
		var unproved error
		prove := c.Prove
		c.Prove = func(ctx context.Context, old int64) (proof []tlog.Hash, err error) {
			proof, unproved = prove(ctx, old)
			return proof, unproved
		}
		var line []byte
		limited, cancel := context.WithTimeout(ctx, witnessTimeout)
		defer cancel()
		if line, err = w.client.Cosign(limited, w.policy.Witnesses[number], c, old); err == nil {
			w.backoff.succeeded(ctx, of, c.Size, w.policy.Witnesses[number].Name)
			return line, nil
		}
		// Do not count the failure against the witness if the ledger could not give a proof.
		if ctx.Err() == nil && unproved == nil {
			w.backoff.failed(ctx, of, err, w.policy.Witnesses[number].Name)
		}
	}
	return nil, fmt.Errorf("witness %s: %w", w.policy.Witnesses[number].Name, err)
}
