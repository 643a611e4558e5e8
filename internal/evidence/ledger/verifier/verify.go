package verifier

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// DefaultSilence is the time without events after which a report lists a run, unless a producer has
// declared the end of the run.
const DefaultSilence = 30 * time.Minute

// Options are the settings of [Verify].
type Options struct {
	Key    note.Verifier // from [ledger.ParseKey] if Anchor is set
	Anchor *Anchoring    // nil if the caller has checked Key
	// Changes are the replacements of the ledger's signing key. The ledger may not have recorded
	// the latest ones yet.
	Changes []ledger.KeyRotation
	Tenant  string        // empty accepts any tenant
	Run     string        // limits the verdict on completeness
	From    time.Time     // limits completeness to events stored from From on
	To      time.Time     // and before To
	Silence time.Duration // [DefaultSilence] by default
	// Trusted is a checkpoint that the user trusts, as a signed note. nil means that there is none.
	Trusted []byte
	// Anchored are the checkpoints from stores outside the ledger. It includes unreadable
	// checkpoints, so that the report lists them.
	Anchored []Anchored
	// Witnesses says which witnesses must have cosigned the ledger. nil means that none must.
	Witnesses *transparency.Policy
	Witnessed []byte // cosigned checkpoint from [ledger.ReadWitnessed]

	Stamps []timestamp.Stored // stored with the ledger
	// TSA contains the certificates of trusted time stamp authorities. If TSA is nil, the
	// authorities are not checked.
	TSA *x509.CertPool

	// Progress gets the number of checked leaves and the total, from one goroutine. The number may
	// start again at 0. Progress may be nil.
	Progress func(done, total int64)

	AllowAcknowledged bool

	Doubts bool // fill [Report.Doubts]

	RequireEnrolled bool // a producer that is not enrolled causes [ExitIncomplete]
	RequireTrusted  bool // without a usable checkpoint in Trusted or Anchored, [ExitUntrusted]
}

var errChanged = errors.New("the file was changed while it was read")

var errNoSnapshot = errors.New("the writer is too fast for a snapshot")

// Verify checks every byte and signature of the ledger at path, and whether the ledger has
// everything that the producers sent. If a writer runs at the same time, Verify may miss its newest
// batch.
//
// The report lists the problems of the ledger. Verify returns an error only if it cannot read the
// file.
func Verify(ctx context.Context, path string, opts Options) (Report, error) {
	if opts.Key == nil {
		return Report{}, errors.New("verify: options: Key is missing")
	}
	checkpoints, err := opts.trusted()
	if err != nil {
		return Report{}, err
	}
	stamps := opts.checkStamps()
	var foreign ForeignRecords
	for attempt, readings := 0, 1; ; attempt++ {
		v := &verifier{foreign: foreign, opts: opts, trusted: slices.Clone(checkpoints), stamps: slices.Clone(stamps), report: NewReport(path)}
		v.anchorKeys(opts.Tenant, nil)
		err := v.verify(ctx, path)
		if errors.Is(err, errChanged) && attempt < 10 {
			continue
		}
		if err != nil {
			return Report{}, fmt.Errorf("verify %s: %w", path, err)
		}
		if !v.found.IsEmpty() && readings < maxReadings {
			foreign, readings = foreign.With(v.found), readings+1
			continue
		}
		return v.report, nil
	}
}

type verifier struct {
	opts    Options
	trusted []trusted
	stamps  []Stamp
	report  Report
	newest  ledger.Checkpoint
	keys    ledger.Keys
	issuers ledger.Issuers
	foreign ForeignRecords // foreign records from earlier readings
	found   ForeignRecords
}

func (v *verifier) verify(ctx context.Context, path string) (err error) {
	f, err := ledger.OpenFile(path)
	if err != nil {
		if isDamage(err) {
			v.report.AddProblem("the file is no database: %v", err)
			return v.conclude(nil, nil)
		}
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	conns := [readers]*sqlite.Conn{walking: f.Conn}
	for i := walking + 1; i < readers; i++ {
		conn, openErr := f.Connect()
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		conns[i] = conn
	}
	err = v.scan(ctx, conns)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.Changed():
		return errChanged
	}
	return err
}

func isDamage(err error) bool {
	if errors.Is(err, ledger.ErrSchema) {
		return true
	}
	// sqlite.ErrCode would return ResultError for these errors, which counts as damage below.
	if errors.As(err, new(*fs.PathError)) || errors.As(err, new(syscall.Errno)) {
		return false
	}
	if errors.Is(err, ledger.ErrNotFile) || errors.Is(err, errNoSnapshot) {
		return false
	}
	switch sqlite.ErrCode(err).ToPrimary() { //nolint:exhaustive // only these codes mean damage
	case sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultError, sqlite.ResultSchema, sqlite.ResultMismatch,
		sqlite.ResultFormat, sqlite.ResultTooBig, sqlite.ResultInternal:
		return true
	}
	return false
}

func (v *verifier) scan(ctx context.Context, conns [readers]*sqlite.Conn) (err error) {
	for _, c := range conns {
		c.SetInterrupt(ctx.Done())
		defer c.SetInterrupt(nil)
	}
	// Check the schema first, because a table could be a view whose query never ends.
	if err := ledger.CheckSchema(conns[walking]); err != nil {
		return v.conclude(nil, err)
	}
	if err := snapshot(conns); err != nil {
		return v.conclude(nil, err)
	}
	defer func() {
		for _, c := range conns {
			err = errors.Join(err, sqlitetx.RollBack(c))
		}
	}()
	facts, err := v.read(ctx, conns)
	return v.conclude(facts, err)
}

func (v *verifier) read(ctx context.Context, conns [readers]*sqlite.Conn) (*completeness, error) {
	conn := conns[walking]
	if err := ledger.CheckSchema(conn); err != nil {
		return nil, err
	}
	names, err := v.readNames(conn)
	if err != nil {
		return nil, err
	}
	if err := v.readKeys(conn); err != nil {
		return nil, err
	}
	v.openTrusted()
	for i := range v.stamps {
		v.stamps[i].Open(v.keys)
	}
	total, err := expected(conn)
	if err != nil {
		return nil, err
	}
	pages := lookAtPages(ctx, conns[looking])
	records := readRecords(ctx, conns[reading])
	w := newWalk(v, conn, names, records)
	w.expected = total
	walkErr := w.all(ctx)
	side, err := records.finish(walkErr != nil)
	err = errors.Join(walkErr, err)
	damage, pagesErr := pages.finish(err != nil)
	if err = errors.Join(err, pagesErr); err != nil {
		return nil, err
	}
	for _, text := range damage {
		v.report.AddProblem("the database is damaged: %s", text)
	}
	v.compareSides(w, side)
	return w.facts, nil
}

func (v *verifier) conclude(facts *completeness, failure error) error {
	r := &v.report
	if failure == nil && facts != nil {
		failure = facts.conclude(r, v.newest, v.opts.Silence)
		v.found = facts.found.next
		if failure == nil && v.opts.Run != "" {
			failure = facts.restrict(r, v.opts.Run, facts.silentBefore(v.newest, v.opts.Silence))
		}
		if failure == nil && (!v.opts.From.IsZero() || !v.opts.To.IsZero()) {
			failure = newWindow(facts, v.opts.From, v.opts.To).restrict(r)
		}
		facts.matters(r)
		if failure == nil && v.opts.Doubts {
			r.Doubts, failure = doubtsOf(facts)
		}
		r.Records = recordFindingsOf(facts)
	}
	if failure != nil {
		if !isDamage(failure) {
			return failure
		}
		v.report.AddProblem("the database is damaged: %v", failure)
		r.Completeness = Unproven
	}
	v.concludeTrusted()
	v.concludeStamps()
	r.RequireEnrolled, r.AllowAcknowledged = v.opts.RequireEnrolled, v.opts.AllowAcknowledged
	r.Conclude(v.opts.RequireTrusted)
	return nil
}

func openSigned(signed []byte, keys note.Verifiers) (ledger.Checkpoint, error) {
	n, err := note.Open(signed, keys)
	if err != nil {
		return ledger.Checkpoint{}, err
	}
	if !ledger.IsOnlySigned(signed, n) {
		return ledger.Checkpoint{}, errors.New("it has something besides one signature")
	}
	return ledger.ParseCheckpoint(n.Text)
}

func (v *verifier) compareSides(w *walk, s *side) {
	for _, p := range s.problems {
		v.report.AddProblem("%s", p)
	}
	for _, c := range [...]struct {
		what        string
		table, side *multiset
	}{
		{"ids", &w.indexed.id, &s.id},
		{"producers' numbers", &w.indexed.producer, &s.producer},
		{"runs", &w.indexed.run, &s.run},
		{"what was seen again", &w.indexed.seen, &s.seen},
		{"what was erased", &w.removals.index, &s.erased},
		{"chunks", &s.chunks, &s.chunkRows},
	} {
		if !c.table.equal(c.side) {
			v.report.AddProblem("the index of %s differs from the table", c.what)
		}
	}
}
