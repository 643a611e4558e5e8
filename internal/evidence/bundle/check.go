package bundle

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/x509"
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
	// Key is the key that must have signed the bundle. If Key is nil, Check uses the key in the
	// bundle, which does not prove who made the bundle.
	Key     note.Verifier
	Anchor  *verifier.Anchoring // why the key can be trusted; nil if the caller trusts it
	Tenant  string              // required tenant; empty accepts any
	Silence time.Duration
	// Trusted is a signed checkpoint that the caller trusts because it comes from another source.
	// nil means that the caller has none.
	Trusted        []byte
	RequireTrusted bool
	// RequireEnrolled makes [Check] report a bundle as incomplete unless a trusted issuer has
	// confirmed the signing key of each producer.
	RequireEnrolled bool
	// AllowAcknowledged makes the exit status ignore findings that a person has acknowledged.
	AllowAcknowledged bool
	// Witnesses says which witnesses must have cosigned the checkpoint. nil means that none must.
	Witnesses *transparency.Policy
	// TSA contains the certificates of trusted time stamp authorities. If TSA is nil, the
	// authorities are not checked.
	TSA      *x509.CertPool
	Progress func(done, total int64)
}

// Report is the result of [Check]. Fields that only make sense for a whole ledger are empty.
type Report struct {
	verifier.Report

	Bundle About `json:"bundle"`
	OwnKey bool  `json:"own_key"` // checked with the key in the bundle

	// Attested means that the ledger's key signed the list of records in the bundle. Otherwise,
	// records may have been left out.
	Attested    bool   `json:"attested"`
	NotAttested string `json:"not_attested,omitempty"`

	doubts []string // why it is not complete, in words for Unproven
}

const (
	notProvenOfRun  = "that no producer but these told of the run, which a bundle of the whole ledger would show; "
	notProvenOfPart = "that no other record of the ledger contradicts one of these, because an earlier version exported them; "
)

var (
	errBundle   = errors.New("the file is no bundle")
	errTooLarge = errors.New("it is too large")
)

const maxReadings = 4

const (
	maxSmallFile = 1 << 20
	maxAboutFile = 16 << 20
)

// Check verifies the bundle at path without access to the ledger or a network.
//
// The report lists the problems of the bundle. Check returns an error only if it cannot read the
// file or compare it with the trusted checkpoint.
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
		c.report.conclude(opts.RequireTrusted)
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
		// Events sent under the name of another producer must not affect the verdict, so check the
		// bundle again without them.
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
	c.report.conclude(opts.RequireTrusted)
	return c.report, nil
}

const altered = "get an unaltered copy of the bundle, or export it again from the ledger"

func (r *Report) conclude(requireTrusted bool) {
	r.Conclude(requireTrusted)
	r.Explain(altered)
	if r.Integrity == verifier.Verified && r.Completeness == verifier.Unproven {
		r.Unproven = append(r.Unproven, r.doubts...)
	}
}

type checker struct {
	opts    CheckOptions
	report  Report
	files   map[string]*zip.File
	names   []string // files of this format
	digests map[string]events.Hash
	signed  *Statement // nil if the selection is not attested
	newest  ledger.Checkpoint
	keys    ledger.Keys // accepted keys for checkpoints and orders
	issuers ledger.Issuers
	trusted *ledger.Checkpoint
	foreign verifier.ForeignRecords // found in earlier readings
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

func (c *checker) contents(z *zip.Reader) bool {
	c.files = make(map[string]*zip.File)
	c.names = filesOf(formatOf(func(name string) bool {
		return slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == name })
	}))
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
		err = errTooLarge
	}
	return data, err
}

func (c *checker) head() {
	if err := c.about(); err != nil {
		c.report.AddProblem("%s: %v", aboutFile, err)
		return
	}
	own, err := c.key()
	if err != nil {
		c.report.AddProblem("%s: %v", keyFile, err)
		return
	}
	key := cmp.Or(c.opts.Key, own)
	signed, err := c.small(checkpointFile)
	if err == nil {
		err = c.open(key, signed)
	}
	if err == nil && c.keys.Chain.Index(own, 0) < 0 {
		c.report.AddProblem("%s: %s is not a key of this ledger", keyFile, ledger.KeyID(own))
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
	c.stamped()
	c.attested()
}

func (c *checker) about() error {
	text, err := c.small(aboutFile)
	if err != nil {
		return err
	}
	if c.report.Bundle, err = parseAbout(text); err != nil {
		return err
	}
	return checkFormat(c.report.Bundle, c.names)
}

func (c *checker) key() (note.Verifier, error) {
	text, err := c.small(keyFile)
	if err != nil {
		return nil, err
	}
	own, _, err := ledger.ParseVerifier(string(text))
	return own, err
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
