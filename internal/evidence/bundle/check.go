package bundle

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// CheckOptions are the settings of [Check].
type CheckOptions struct {
	// Key is the required verifier key. Without it Check uses the key in the bundle, which
	// shows that the bundle is consistent but not who made it.
	Key     note.Verifier
	Tenant  string        // required tenant; empty: any
	Silence time.Duration // after which a run counts as ended
	// Trusted is a signed checkpoint from a trusted place, or nil.
	Trusted        []byte
	RequireTrusted bool
	// Witnesses is the required witness policy, or nil.
	Witnesses *transparency.Policy
	Progress  func(done, total int64) // records
}

// A Report is the result of [Check]. It has the fields of the ledger's report that
// apply to a bundle.
type Report struct {
	verifier.Report

	Bundle About `json:"bundle"`
	OwnKey bool  `json:"own_key"` // checked with the bundle's key
}

// notProvenOfRun is the limit of a bundle of one run.
const notProvenOfRun = "that no producer but these told of the run, which a bundle of the whole ledger would show; "

// errBundle is reported for a file that is not a valid bundle.
var errBundle = errors.New("the file is no bundle")

// maxSmallFile bounds the files that Check reads into memory.
const maxSmallFile = 1 << 20

// maxProblems is the largest number of problems in a report.
const maxProblems = 50

// Check verifies the bundle at path. It compares the files with the list of hashes, the
// records with their leaves, the leaves and subtrees with the signed checkpoint, and
// the leaves with the selection. Then it judges whether all events of the producers are
// present. It uses only the file and the key.
//
// It returns an error if the file cannot be read or cannot be compared with the trusted
// checkpoint. The report lists the problems of the bundle.
func Check(ctx context.Context, path string, opts CheckOptions) (report Report, err error) {
	c := &checker{opts: opts}
	c.report.Ledger = path
	if opts.Silence <= 0 {
		c.opts.Silence = verifier.DefaultSilence
	}
	if opts.Trusted != nil {
		t, err := ledger.ReadCheckpoint(opts.Trusted)
		if err != nil {
			return report, fmt.Errorf("trusted checkpoint: %w", err)
		}
		c.trusted = &t
	}
	z, err := zip.OpenReader(path)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, zip.ErrChecksum) {
		c.problem("%v: %v", errBundle, err)
		c.conclude()
		return c.report, nil
	}
	if err != nil {
		return report, fmt.Errorf("check bundle: %w", err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	if err := c.check(ctx, &z.Reader); err != nil {
		return report, fmt.Errorf("check bundle %s: %w", path, err)
	}
	c.conclude()
	return c.report, nil
}

// checker is the state of one call of Check.
type checker struct {
	opts    CheckOptions
	report  Report
	files   map[string]*zip.File
	newest  ledger.Checkpoint
	keys    ledger.Keys // that may have signed checkpoints and orders
	trusted *ledger.Checkpoint
}

// problem reports a deviation of the bundle.
func (c *checker) problem(format string, args ...any) {
	c.report.ProblemCount++
	if len(c.report.Problems) < maxProblems {
		c.report.Problems = append(c.report.Problems, fmt.Sprintf(format, args...))
	}
}

func (c *checker) check(ctx context.Context, z *zip.Reader) error {
	if !c.contents(z) {
		return nil
	}
	if err := c.sums(ctx); err != nil || c.report.ProblemCount > 0 {
		return err
	}
	c.head()
	if c.report.ProblemCount > 0 {
		return nil
	}
	w, err := c.newWalk()
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.all(ctx); err != nil {
		return err
	}
	return c.compareTrusted(w)
}

// contents checks that the zip file has each file exactly once and no other.
func (c *checker) contents(z *zip.Reader) bool {
	c.files = make(map[string]*zip.File)
	known := make(map[string]bool)
	for _, name := range bundleFiles {
		known[name] = true
	}
	for i, f := range z.File {
		switch {
		case !known[f.Name]:
			c.problem("file %d of the bundle is none that a bundle has", i+1)
		case c.files[f.Name] != nil:
			c.problem("%s is there twice", f.Name)
		default:
			c.files[f.Name] = f
		}
	}
	for _, name := range bundleFiles {
		if c.files[name] == nil {
			c.problem("%s is missing", name)
		}
	}
	return c.report.ProblemCount == 0
}

// small reads a small file into memory.
func (c *checker) small(name string) (data []byte, err error) {
	f, err := c.files[name].Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, maxSmallFile+1))
	if err == nil && len(data) > maxSmallFile {
		err = errors.New("it is too large")
	}
	return data, err
}

// head checks bundle.json and the checkpoint.
func (c *checker) head() {
	about, err := c.small(aboutFile)
	if err == nil {
		err = json.Unmarshal(about, &c.report.Bundle)
	}
	if err == nil && c.report.Bundle.Format != bundleFormat {
		err = errors.New("it is of another format than " + bundleFormat)
	}
	if err != nil {
		c.problem("%s: %v", aboutFile, err)
		return
	}
	key, err := c.key()
	if err != nil {
		c.problem("%s: %v", keyFile, err)
		return
	}
	signed, err := c.small(checkpointFile)
	if err == nil {
		err = c.open(key, signed)
	}
	if err != nil {
		c.problem("%s: it is not signed by %s: %v", checkpointFile, ledger.KeyID(key), err)
		return
	}
	n, a := c.newest, c.report.Bundle
	c.report.Tenant = n.Tenant
	c.report.Checkpoint = &verifier.Signed{
		Size: n.Size, Root: n.Root.String(), Time: n.Time, Key: ledger.KeyID(c.keys.Signer(signed)), Note: string(signed),
	}
	if c.opts.Tenant != "" && c.opts.Tenant != n.Tenant {
		c.problem("it is of tenant %q", n.Tenant)
	}
	if a.Tenant != n.Tenant || a.Size != n.Size {
		c.problem("%s says something else than %s", aboutFile, checkpointFile)
	}
	c.witnessed()
}

// key returns the required key.
func (c *checker) key() (note.Verifier, error) {
	text, err := c.small(keyFile)
	if err != nil {
		return nil, err
	}
	own, _, err := ledger.ParseVerifier(string(text))
	if err != nil {
		return nil, err
	}
	if c.opts.Key != nil {
		return c.opts.Key, nil
	}
	c.report.OwnKey = true
	return own, nil
}

// compareTrusted compares the bundle with the trusted checkpoint.
func (c *checker) compareTrusted(w *walk) error {
	t := c.trusted
	if t == nil || c.report.ProblemCount > 0 {
		return nil
	}
	if w.trusted == nil {
		return fmt.Errorf("the trusted checkpoint is of %d leaves and cannot be compared with a bundle of %d of the first %d: "+
			"compare the ledger, or a bundle of all of it", t.Size, c.report.Leaves, c.newest.Size)
	}
	c.report.Trusted = &verifier.Trusted{Size: t.Size, Root: t.Root.String(), Time: t.Time}
	if t.Tenant != c.newest.Tenant {
		c.report.Trusted.Diverged, c.report.Trusted.Reason = true, fmt.Sprintf("it is of tenant %q", t.Tenant)
	} else if *w.trusted != t.Root {
		c.report.Trusted.Diverged, c.report.Trusted.Reason = true, "the ledger's root there is another one"
	}
	return nil
}

// conclude sets the integrity verdict and the exit status.
func (c *checker) conclude() {
	r := &c.report
	r.Integrity = verifier.Verified
	if r.NotProven == "" {
		r.NotProven = verifier.NotProven
	}
	if r.Completeness == "" {
		r.Completeness = verifier.Unproven
	}
	if r.ProblemCount > 0 {
		r.Integrity, r.Completeness = verifier.Invalid, verifier.Unproven
	}
	r.Exit = c.exit()
}

// exit returns the exit status of the report.
func (c *checker) exit() int {
	r := &c.report
	switch {
	case r.Integrity != verifier.Verified:
		return verifier.ExitInvalid
	case r.Trusted != nil && r.Trusted.Diverged:
		return verifier.ExitDiverged
	case r.Trusted == nil && c.opts.RequireTrusted:
		return verifier.ExitUntrusted
	case r.Completeness != verifier.Complete:
		return verifier.ExitIncomplete
	case r.Witnesses != nil && !r.Witnesses.Met:
		return verifier.ExitUnwitnessed
	}
	return verifier.ExitVerified
}

// isRun reports whether the bundle is a complete run.
func (a About) isRun() bool {
	extent, ok := a.extent()
	return ok && extent == verifier.WholeRun
}
