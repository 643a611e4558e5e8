package auditor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/daily"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	reportTick    = time.Minute
	maxReportWait = 64 // longest pause after failures, in ticks
	oneDay        = 24 * time.Hour

	maxMissed = 366

	recordWait = 30 * time.Second
	recordPoll = 100 * time.Millisecond
)

// Reports are the settings of daily reports. Failures are logged and retried.
type Reports struct {
	// Dir is the folder for the reports, or empty for none. The report of a day in UTC is in
	// TENANT/DAY.txt and TENANT/DAY.json, see [daily.Made].
	Dir string
	// At is the time of day in UTC after which the previous day is reported.
	At time.Duration
	// AllowAcknowledged makes the status of a report ignore acknowledged findings.
	AllowAcknowledged bool

	Text func(daily.Report) string // renders a report; required with Dir
}

type reporter struct {
	opts     Options
	key      *writer.Key
	standsBy func() bool
}

func (r *reporter) run(ctx context.Context) {
	if r.opts.Reports.Dir == "" {
		return
	}
	for pause, left := 1, 0; ; left-- {
		if left <= 0 && !r.standsBy() {
			left = 1
			if err := r.all(ctx); err == nil {
				pause = 1
			} else if ctx.Err() == nil {
				left = pause
				pause = min(2*pause, maxReportWait)
				r.opts.Logger.ErrorContext(ctx, "daily report not made", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.opts.tick():
		}
	}
}

func (r *reporter) all(ctx context.Context) error {
	tenants, err := r.opts.tenants()
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failed := r.tenant(ctx, tenant); failed != nil {
			err = errors.Join(err, fmt.Errorf("tenant %q: %w", tenant, failed))
		}
	}
	return err
}

func (r *reporter) tenant(ctx context.Context, tenant string) (err error) {
	if tenant == "" { // this ledger has only quarantined messages
		return nil
	}
	token, err := subjects.Token(tenant)
	if err != nil {
		return err
	}
	dir := filepath.Join(r.opts.Reports.Dir, token)
	days, err := missingDays(dir, r.opts.Now().Add(-r.opts.Reports.At))
	if err != nil || len(days) == 0 {
		return err
	}
	reader, err := ledger.OpenTenant(LedgerDir(r.opts.DataDir), tenant)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	for _, from := range days {
		if err := r.day(ctx, reader, dir, from); err != nil {
			return fmt.Errorf("%s: %w", from.Format(time.DateOnly), err)
		}
	}
	return nil
}

func missingDays(dir string, now time.Time) (days []time.Time, err error) {
	last := now.UTC().Truncate(oneDay).Add(-oneDay)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	first := last
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".txt")
		if made, err := time.Parse(time.DateOnly, name); ok && err == nil {
			first = made.Add(oneDay) // names are sorted, so the last one is the newest
		}
	}
	if limit := last.Add(-maxMissed * oneDay); first.Before(limit) {
		first = limit
	}
	for d := first; !d.After(last); d = d.Add(oneDay) {
		days = append(days, d)
	}
	return days, nil
}

func (r *reporter) day(ctx context.Context, reader *ledger.Reader, dir string, from time.Time) error {
	to := from.Add(oneDay)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		older, err := reader.Activity().Kinds(ctx, ledger.Stored{To: to, Before: 1})
		if err != nil || len(older) == 0 {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := r.record(ctx, reader, from, to); err != nil {
		return err
	}
	key, err := ledger.ParseKey(r.key.Public())
	if err != nil {
		return err
	}
	verified, err := verifier.Verify(ctx, reader.Path(), verifier.Options{
		Key: key, Changes: ledger.ReadRotations(KeyDir(r.opts.DataDir)), Tenant: reader.Tenant(), From: from, To: to, Silence: r.opts.Silence,
		AllowAcknowledged: r.opts.Reports.AllowAcknowledged,
	})
	if err != nil {
		return err
	}
	rep, err := daily.Of(ctx, reader, verified, r.opts.Silence)
	if err != nil {
		return err
	}
	made, err := daily.Make(rep, r.opts.Reports.Text, r.key.Signer(), r.key.Public())
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, from.Format(time.DateOnly)), made); err != nil {
		return err
	}
	r.opts.Logger.InfoContext(ctx, "daily report made", "tenant", reader.Tenant(), "day", from.Format(time.DateOnly),
		"integrity", string(rep.Verdict.Integrity), "completeness", string(rep.Verdict.Completeness), "exit", rep.Exit)
	return nil
}

// write writes the text file last, because its presence means that the report is complete.
func write(path string, made daily.Made) error {
	document, err := made.JSON()
	if err == nil {
		err = atomicfile.Write(path+".json", document)
	}
	if err == nil {
		err = atomicfile.Write(path+".txt", made.Note)
	}
	return err
}

// record waits until the access record is stored, so that the next checkpoint covers the whole
// reported day.
func (r *reporter) record(ctx context.Context, reader *ledger.Reader, from, to time.Time) error {
	use, err := access.Record(ctx, r.opts.DataDir, reader.Tenant(), events.AuditAccessedData{
		Action: events.AuditReport, By: "auditor serve", Reason: "daily report",
		Selection: &events.AuditSelection{From: &from, To: &to},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, recordWait)
	defer cancel()
	for {
		_, ok, err := reader.Find(ctx, use.ID)
		switch {
		case ctx.Err() != nil: // a report without the record is better than none
			return nil
		case ok || err != nil:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(recordPoll):
		}
	}
}
