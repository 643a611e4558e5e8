package auditor

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

var notOfBundles = []string{"ledger", "checkpoint-file", "proof", "event", "report", "run", "from", "to", "max-age"} //nolint:gochecknoglobals // a constant

func checkBundleFlags(cmd *cobra.Command) error {
	for _, flag := range notOfBundles {
		if !cli.Given(cmd, flag) {
			continue
		}
		switch flag {
		case "max-age":
			return cli.Usage("--max-age is not for a bundle, which does not change; give it for the ledger")
		case "run", "from", "to":
			return cli.Usage("--%s is not for a bundle; auditor export --%[1]s selects what is in one", flag)
		}
		return cli.Usage("--%s is not for a bundle", flag)
	}
	return nil
}

var otherFiles = map[string]string{"SQLite format 3\x00": "ledger", "c2sp.org/tlog-proof@": "proof", "hooktrail/report/v1\n": "report"} //nolint:gochecknoglobals // a constant

func notABundle(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil // the verification reports it
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	begin := make([]byte, 32)
	n, err := io.ReadFull(f, begin)
	if err != nil && n == 0 {
		return nil // the verification reports it
	}
	for sign, flag := range otherFiles {
		if bytes.HasPrefix(begin[:n], []byte(sign)) {
			return cli.Usage("%s is not a bundle: verify it with --%s %[1]s", path, flag)
		}
	}
	if bytes.HasPrefix(begin[:n], []byte("PK")) {
		return nil // possibly a damaged bundle
	}
	if z, err := zip.OpenReader(path); err == nil {
		return z.Close()
	}
	return fmt.Errorf("%s is not a bundle, which is a zip file of auditor export", path)
}

func (v verification) runBundle(cmd *cobra.Command, shared *cli.Shared, path string) error {
	opts := bundle.CheckOptions{
		Silence: v.silence, RequireTrusted: v.requireTrusted, RequireEnrolled: v.requireEnrolled, AllowAcknowledged: v.allowKnown, Tenant: shared.Tenant,
	}
	var err error
	if v.key != "" {
		if opts.Key, err = v.verifier(shared); err != nil {
			return err
		}
	}
	if opts.Anchor, err = v.exported(); err != nil {
		return err
	}
	if v.trusted != "" {
		if opts.Trusted, err = os.ReadFile(v.trusted); err != nil {
			return fmt.Errorf("trusted checkpoint: %w", err)
		}
	}
	if v.witnessPolicy != "" {
		if opts.Witnesses, err = anchor.ReadPolicy(v.witnessPolicy); err != nil {
			return err
		}
	}
	if opts.TSA, err = v.tsaRoots(); err != nil {
		return err
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "verify")
	opts.Progress = func(done, total int64) { bar.Set(uint64(done), uint64(total)) }
	report, err := bundle.Check(cmd.Context(), path, opts)
	bar.Finish()
	if err != nil {
		return err
	}
	(*question)(nil).answer(cmd.Context(), &report.Report)
	return printVerdict(cmd, shared, report, report.Exit, func(out io.Writer) { printBundle(out, report) })
}

func printBundle(out io.Writer, r bundle.Report) {
	l := lines{out: out, palette: cli.PaletteFor(out)}
	if r.Integrity == verifier.Verified {
		l.print("Bundle", "", bundleText(r))
		if r.Attested {
			l.print("Selection", l.verdict("ATTESTED", l.palette.Good), "the ledger's key signed what the bundle has")
		} else {
			l.print("Selection", l.verdict("NOT ATTESTED", l.palette.Warn), r.NotAttested)
		}
	}
	l.integrity(r.Report)
	rest := r.Report
	rest.Run = cmp.Or(rest.Run, r.Bundle.Run) // so that the events of producers are not taken for those of the run
	printRest(l, rest)
}

func bundleText(r bundle.Report) string {
	b := r.Bundle
	text, isRange := "all of tenant "+b.Tenant, !b.From.IsZero() || !b.To.IsZero()
	switch {
	case isRange:
		text = "a range of time of tenant " + b.Tenant
	case b.Run != "":
		text = "run " + b.Run + " of tenant " + b.Tenant
	}
	if b.Run != "" && isRange {
		text += ", of run " + b.Run
	}
	for _, at := range []struct {
		word string
		time time.Time
	}{{"from", b.From}, {"before", b.To}} {
		if !at.time.IsZero() {
			text += ", " + at.word + " " + at.time.Format(time.RFC3339)
		}
	}
	text = fmt.Sprintf("%s: %s of the ledger's %s", text, thousands(b.Leaves), plural(b.Size, "leaf", "leaves"))
	if isRange && b.Leaves < b.Size {
		text += "; a run that reaches beyond that time is here only in part"
	}
	return text
}
