package bundle

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// CheckOptions are the settings of [Check].
type CheckOptions struct {
	// Key is the verifier key that the bundle must be signed with. If it is nil, Check uses the key
	// in the bundle. Then the result shows only that the bundle is consistent, and not who made it.
	Key     note.Verifier
	Anchor  *verifier.Anchoring // says why the key can be trusted; nil if the caller trusts it
	Tenant  string              // tenant that the bundle must be of; empty means any
	Silence time.Duration
	// Trusted is a signed checkpoint from a trusted place, or nil.
	Trusted        []byte
	RequireTrusted bool
	// RequireEnrolled sets the exit status to that of an incomplete bundle if a producer is not
	// enrolled.
	RequireEnrolled bool
	// AllowAcknowledged ignores acknowledged findings in the exit status.
	AllowAcknowledged bool
	// Witnesses is the required witness policy, or nil.
	Witnesses *transparency.Policy
	Progress  func(done, total int64)
}

// Report is the result of [Check]. It contains the fields of a ledger's report that apply to a
// bundle.
type Report struct {
	verifier.Report

	Bundle About `json:"bundle"`
	OwnKey bool  `json:"own_key"` // true if the bundle was checked with the key that it contains

	// Attested reports whether the ledger's key signed the selection. If it did not, the bundle is
	// never complete, and NotAttested has the reason.
	Attested    bool   `json:"attested"`
	NotAttested string `json:"not_attested,omitempty"`
}

// notProvenOfRun describes what a bundle of one run can never prove.
const notProvenOfRun = "that no producer but these told of the run, which a bundle of the whole ledger would show; "

// errBundle is reported if the file is not a valid bundle.
var errBundle = errors.New("the file is no bundle")

// maxReadings is the maximum number of times that Check reads a bundle to find all foreign records.
const maxReadings = 4

// These are the maximum sizes of files that Check reads into memory. bundle.json may be larger
// because it can name many producers.
const (
	maxSmallFile = 1 << 20
	maxAboutFile = 16 << 20
)

// Check verifies the bundle at path. It compares the files with the list of hashes, the records
// with their leaves, the leaves and subtrees with the signed checkpoint, and the leaves and the
// page with the signed selection. Then it checks completeness. It reads nothing except the bundle
// and the key.
//
// Problems of the bundle are in the report. Check returns an error only if the file cannot be read
// or cannot be compared with the trusted checkpoint.
func Check(ctx context.Context, path string, opts CheckOptions) (report Report, err error) {
	c := &checker{opts: opts, report: Report{Report: verifier.NewReport(path)}}
	if opts.Trusted != nil {
		t, signed, err := verifier.ReadTrusted(opts.Trusted)
		if err != nil {
			return report, err
		}
		c.trusted, c.trustedNote = &t, signed
	}
	z, err := zip.OpenReader(path)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, zip.ErrChecksum) {
		c.report.AddProblem("%v: %v", errBundle, err)
		c.report.Conclude(opts.RequireTrusted)
		return c.report, nil
	}
	if err != nil {
		return report, fmt.Errorf("check bundle: %w", err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	if err := c.check(ctx, &z.Reader); err != nil {
		return report, fmt.Errorf("check bundle %s: %w", path, err)
	}
	for readings := 1; !c.found.IsEmpty() && readings < maxReadings; readings++ {
		// Foreign events were found. The next reading leaves them out, so that the verdict is about
		// the real producers.
		c = &checker{
			opts: opts, report: Report{Report: verifier.NewReport(path)}, trusted: c.trusted, trustedNote: c.trustedNote,
			foreign: c.foreign.With(c.found),
		}
		if err := c.check(ctx, &z.Reader); err != nil {
			return report, fmt.Errorf("check bundle %s: %w", path, err)
		}
	}
	c.report.RequireEnrolled = opts.RequireEnrolled
	c.report.AllowAcknowledged = opts.AllowAcknowledged
	c.report.Conclude(opts.RequireTrusted)
	return c.report, nil
}

type checker struct {
	opts    CheckOptions
	report  Report
	files   map[string]*zip.File
	names   []string // names of all files in this format
	digests map[string]events.Hash
	signed  *Statement // nil if the selection is not attested
	newest  ledger.Checkpoint
	keys    ledger.Keys // keys that may have signed checkpoints and orders
	issuers ledger.Issuers
	trusted *ledger.Checkpoint
	foreign verifier.ForeignRecords // foreign records found in earlier readings
	found   verifier.ForeignRecords

	trustedNote []byte
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

// contents checks that the bundle has exactly the files of its format, each of them once. A bundle
// without selection.txt is of version 1.
func (c *checker) contents(z *zip.Reader) bool {
	c.files = make(map[string]*zip.File)
	c.names = filesOf(formatV1)
	if slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == selectionFile }) {
		c.names = filesOf(formatV2)
	}
	for i, f := range z.File {
		switch {
		case !slices.Contains(c.names, f.Name):
			c.report.AddProblem("file %d of the bundle is none that a bundle has", i+1)
		case c.files[f.Name] != nil:
			c.report.AddProblem("%s is there twice", f.Name)
		default:
			c.files[f.Name] = f
		}
	}
	for _, name := range c.names {
		if c.files[name] == nil {
			c.report.AddProblem("%s is missing", name)
		}
	}
	return c.report.ProblemCount == 0
}

func (c *checker) small(name string) (data []byte, err error) {
	f, err := c.files[name].Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	limit := int64(maxSmallFile)
	if name == aboutFile {
		limit = maxAboutFile
	}
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("it is too large")
	}
	return data, err
}

func (c *checker) head() {
	about, err := c.small(aboutFile)
	if err == nil {
		err = json.Unmarshal(about, &c.report.Bundle)
	}
	if err == nil {
		err = c.format()
	}
	if err != nil {
		c.report.AddProblem("%s: %v", aboutFile, err)
		return
	}
	key, err := c.key()
	if err != nil {
		c.report.AddProblem("%s: %v", keyFile, err)
		return
	}
	signed, err := c.small(checkpointFile)
	if err == nil {
		err = c.open(key, signed)
	}
	if err != nil {
		c.report.AddProblem("%s: it is not signed by %s: %v", checkpointFile, ledger.KeyID(key), err)
		return
	}
	n, a := c.newest, c.report.Bundle
	c.report.Tenant = n.Tenant
	c.report.Checkpoint = &verifier.Signed{
		Size: n.Size, Root: n.Root.String(), Time: n.Time, Key: ledger.KeyID(c.keys.Signer(signed)), Note: string(signed),
	}
	if c.opts.Tenant != "" && c.opts.Tenant != n.Tenant {
		c.report.AddProblem("it is of tenant %q", n.Tenant)
	}
	if a.Tenant != n.Tenant || a.Size != n.Size {
		c.report.AddProblem("%s says something else than %s", aboutFile, checkpointFile)
	}
	c.witnessed()
	c.attested()
}

// format checks that the format in bundle.json matches the list of files.
func (c *checker) format() error {
	has := slices.Contains(c.names, selectionFile)
	switch format := c.report.Bundle.Format; {
	case format != formatV1 && format != formatV2:
		return errors.New("it is of another format than " + formatV1 + " and " + formatV2)
	case has != (format == formatV2):
		return fmt.Errorf("it is of format %s, which has other files", format)
	}
	return nil
}

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
	return own, nil
}

func (c *checker) compareTrusted(w *walk) error {
	t := c.trusted
	if t == nil || c.report.ProblemCount > 0 {
		return nil
	}
	c.report.Trusted = &verifier.Trusted{Size: t.Size, Root: t.Root.String(), Time: t.Time}
	if reason := c.trustedByOther(); reason != "" {
		c.report.Trusted.Diverged, c.report.Trusted.Reason = true, reason
		return nil
	}
	if w.trusted == nil {
		return fmt.Errorf("the trusted checkpoint is of %d leaves and cannot be compared with a bundle of %d of the first %d: "+
			"compare the ledger, or a bundle of all of it", t.Size, c.report.Leaves, c.newest.Size)
	}
	if t.Tenant != c.newest.Tenant {
		c.report.Trusted.Diverged, c.report.Trusted.Reason = true, fmt.Sprintf("it is of tenant %q", t.Tenant)
	} else if *w.trusted != t.Root {
		c.report.Trusted.Diverged, c.report.Trusted.Reason = true, "the ledger's root there is another one"
	}
	return nil
}
