package verifier

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// DefaultSilence is how long a run without a seal may be silent before it counts as ended.
const DefaultSilence = 30 * time.Minute

// Options are the settings of [Verify].
type Options struct {
	Key     note.Verifier // from [ledger.ParseKey] if Anchor is set
	Anchor  *Anchoring    // what vouches for Key; nil if the caller does
	Tenant  string        // empty accepts any
	Run     string        // restricts the verdict on completeness to this run; empty is no limit
	From    time.Time     // restricts it to what the server stored from then on; zero is no limit
	To      time.Time     // and before then
	Silence time.Duration // [DefaultSilence] by default
	// Trusted is a checkpoint that the user vouches for, as a signed note, or nil.
	Trusted []byte
	// Anchored are stored checkpoints. Unlike Trusted, they may be missing or unreadable.
	Anchored []Anchored
	// Witnesses is the policy of required witnesses, or nil. Witnessed is the cosigned
	// checkpoint from [ledger.ReadWitnessed], or nil.
	Witnesses *transparency.Policy
	Witnessed []byte

	// Progress is called with the number of checked leaves and of all leaves, by one
	// goroutine. It starts again at the beginning if the file changed during verification.
	// It may be nil.
	Progress func(done, total int64)

	// AllowAcknowledged leaves acknowledged findings out of [Report.Exit].
	AllowAcknowledged bool

	RequireEnrolled bool // [Report.Exit] is [ExitIncomplete] with a producer that is not enrolled
	RequireTrusted  bool // [Report.Exit] is [ExitUntrusted] without a usable Trusted or Anchored
}

// errChanged ends a verification if a writer changed the file.
var errChanged = errors.New("the file was changed while it was read")

// errNoSnapshot is returned if the writer signs faster than the readers agree on a state.
var errNoSnapshot = errors.New("the writer is too fast for a snapshot")

// Verify checks every byte of the ledger at path. It compares every leaf with its record,
// the tree with every checkpoint, and every index with its table, and checks every
// signature. Then it checks whether the ledger has everything that the producers sent. It
// uses only the file and the key. It works in parallel with a running writer and may miss
// its newest batch.
//
// Verify returns an error if it cannot read the file. Faults of the ledger are in the
// report.
func Verify(ctx context.Context, path string, opts Options) (Report, error) {
	if opts.Key == nil {
		return Report{}, errors.New("verify: options: Key is missing")
	}
	checkpoints, err := opts.trusted()
	if err != nil {
		return Report{}, err
	}
	var foreign ForeignRecords
	for attempt, readings := 0, 1; ; attempt++ {
		v := &verifier{foreign: foreign, opts: opts, trusted: slices.Clone(checkpoints), report: NewReport(path)}
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
	report  Report
	newest  ledger.Checkpoint
	keys    ledger.Keys
	issuers ledger.Issuers
	foreign ForeignRecords // known from an earlier reading
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

// isDamage reports whether an error shows a damaged file rather than one that cannot be
// read.
func isDamage(err error) bool {
	if errors.Is(err, ledger.ErrSchema) {
		return true
	}
	// Other errors have the same code as a general error of SQLite.
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
	// A table could be a view whose query never ends.
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

// conclude returns failure, which ended the walk early, if it is not a fault of the ledger.
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
	}
	if failure != nil {
		if !isDamage(failure) {
			return failure
		}
		v.report.AddProblem("the database is damaged: %v", failure)
		r.Completeness = Unproven
	}
	v.concludeTrusted()
	r.RequireEnrolled, r.AllowAcknowledged = v.opts.RequireEnrolled, v.opts.AllowAcknowledged
	r.Conclude(v.opts.RequireTrusted)
	return nil
}

// openSigned opens a note that exactly one of keys signed, in canonical form.
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
