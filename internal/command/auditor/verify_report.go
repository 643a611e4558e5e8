package auditor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/daily"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

type reportReport struct {
	File      string             `json:"file"`
	Integrity verifier.Integrity `json:"integrity"` // of the report
	Problem   string             `json:"problem,omitempty"`
	Signed    bool               `json:"signed"`
	Unchecked bool               `json:"unchecked,omitempty"` // no key is here to check the signature
	Key       string             `json:"key,omitempty"`       // that signed it
	Tenant    string             `json:"tenant,omitempty"`
	Leaves    int64              `json:"leaves"` // of the reported ledger
	Root      string             `json:"root,omitempty"`
	From      time.Time          `json:"from,omitzero"`
	To        time.Time          `json:"to,omitzero"`
	// Verdict is the integrity of the ledger in the report.
	Verdict      verifier.Integrity    `json:"ledger_integrity,omitempty"`
	Completeness verifier.Completeness `json:"completeness,omitempty"`
	Reported     int                   `json:"reported_exit"`

	Ledger *ledgerOfReport  `json:"ledger,omitempty"` // nil if the ledger is not here
	Anchor *verifier.Anchor `json:"anchor,omitempty"`
	Exit   int              `json:"exit"`
}

type ledgerOfReport struct {
	Compared  daily.Compared     `json:"compared,omitempty"`
	Integrity verifier.Integrity `json:"integrity"`
	Leaves    int64              `json:"leaves"`
}

const maxReportBytes = 64 << 20

func (v verification) runReport(cmd *cobra.Command, shared *cli.Shared) error {
	f, err := readReport(v.report)
	if err != nil {
		return err
	}
	r := reportReport{File: v.report, Integrity: verifier.Verified}
	s, err := v.openReport(shared, f, &r)
	if err != nil {
		return err
	}
	if r.Integrity == verifier.Verified && !r.Unchecked {
		if err := v.compareReport(cmd, shared, s, &r); err != nil {
			return err
		}
	}
	r.conclude()
	return printVerdict(cmd, shared, r, r.Exit, func(out io.Writer) { r.print(lines{out: out, palette: cli.PaletteFor(out)}) })
}

func readReport(path string) (f daily.File, err error) {
	in, err := os.Open(path)
	if err != nil {
		return f, fmt.Errorf("report: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	data, err := io.ReadAll(io.LimitReader(in, maxReportBytes+1))
	if err == nil && len(data) > maxReportBytes {
		err = fmt.Errorf("it has more than %d bytes", maxReportBytes)
	}
	if err == nil {
		f, err = daily.Parse(data)
	}
	if err != nil {
		return f, fmt.Errorf("report %s: %w", path, err)
	}
	return f, nil
}

func (v verification) openReport(shared *cli.Shared, f daily.File, r *reportReport) (daily.Statement, error) {
	tenant, size, signed := f.Claims()
	var keys ledger.Keys
	var err error
	if signed {
		keys, r.Anchor, err = v.keysOf(shared, tenant, func(k ledger.Keys) bool { return f.IsSignedBy(k.At(size)) })
		r.Unchecked = v.key == "" && errors.Is(err, os.ErrNotExist)
		if err != nil && !r.Unchecked {
			return daily.Statement{}, err
		}
	}
	s, signed, err := r.check(f, keys, size)
	if err == nil && shared.Tenant != "" && s.Tenant() != shared.Tenant {
		err = fmt.Errorf("it is about tenant %q", s.Tenant())
	}
	if err != nil {
		r.Integrity, r.Problem, r.Anchor = verifier.Invalid, err.Error(), nil
		return s, nil //nolint:nilerr // the problem is the result
	}
	signed = signed && !r.Unchecked
	r.Signed, r.Tenant, r.Leaves, r.Root, r.From, r.To = signed, s.Tenant(), s.Size, s.Root.String(), s.From, s.To
	r.Verdict, r.Completeness, r.Reported = s.Integrity, s.Completeness, s.Exit
	if signed {
		r.Key = ledger.KeyID(keys.Chain[0])
	}
	return s, nil
}

func (r *reportReport) check(f daily.File, keys ledger.Keys, size int64) (daily.Statement, bool, error) {
	if r.Unchecked {
		s, err := f.Unchecked(DailyText)
		return s, true, err
	}
	return f.Check(keys.At(size), DailyText)
}

func (v verification) compareReport(cmd *cobra.Command, shared *cli.Shared, s daily.Statement, r *reportReport) (err error) {
	in := *shared
	in.Tenant = r.Tenant
	path, err := ledgerPath(in.DataDir, r.Tenant, v.file)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil && v.file == "" {
		return nil // the ledger is not here
	}
	reader, err := openLedger(in.DataDir, r.Tenant, v.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	opts := verifier.Options{Silence: s.Silence, From: s.From, To: s.To, Tenant: reader.Tenant(), AllowAcknowledged: s.AllowsAcknowledged()}
	if opts.Key, err = v.verifier(&in); err != nil {
		return err
	}
	opts.Changes = rotations(in.DataDir)
	verified, _, err := v.judge(cmd, &in, opts)
	if err != nil {
		return err
	}
	r.Ledger = &ledgerOfReport{Integrity: verified.Integrity, Leaves: verified.Leaves}
	if verified.Integrity != verifier.Verified && s.Integrity == verifier.Verified {
		return nil
	}
	if r.Ledger.Compared, err = s.Compare(cmd.Context(), reader, verified); err != nil {
		return err
	}
	if !r.Signed && r.Ledger.Compared == daily.Same {
		r.Anchor = verified.Anchor // the ledger confirms the whole report
	}
	return nil
}

func (r *reportReport) conclude() {
	r.Exit = r.Reported
	if r.Unchecked {
		r.Anchor = &verifier.Anchor{State: verifier.AnchorNone, Reason: "no key is here that could check the signature: name one with --key"}
	} else if r.Anchor == nil {
		r.Anchor = &verifier.Anchor{State: verifier.AnchorNone, Reason: "the ledger's key has not signed the report, " +
			"and no ledger in the state of the report is here: compare it where the ledger is"}
	} else if r.Anchor.State == verifier.AnchorNone && r.Anchor.Reason == "" {
		r.Anchor.Remedy(r.Key)
	}
	r.Exit = max(r.Exit, r.Anchor.Exit())
	if r.Integrity != verifier.Verified {
		r.Exit, r.Anchor = verifier.ExitInvalid, nil
	}
	if l := r.Ledger; l != nil {
		switch l.Compared {
		case daily.Same, daily.Grown:
		case daily.Diverged:
			r.Exit = max(r.Exit, verifier.ExitDiverged)
		case daily.Differs, "":
			r.Exit = verifier.ExitInvalid
		}
	}
}

func (r *reportReport) print(l lines) {
	if r.Integrity != verifier.Verified {
		l.print("Report", l.verdict(string(r.Integrity), l.palette.Bad), r.Problem)
		return
	}
	switch {
	case r.Unchecked:
		l.print("Report", l.verdict("NOT CHECKED", l.palette.Warn), "no key is here that could check its signature")
	case r.Signed:
		l.print("Report", l.verdict("SIGNED", l.palette.Good), "by key "+r.Key)
	default:
		l.print("Report", l.verdict("NOT SIGNED", l.palette.Warn), "the ledger's private key was not at hand")
	}
	l.print("About", "", fmt.Sprintf("tenant %s, %s, %s, root %s", r.Tenant, periodText(r.From, r.To), plural(r.Leaves, "leaf", "leaves"), r.Root))
	l.print("Said", "", fmt.Sprintf("%s, %s, exit status %d", r.Verdict, r.Completeness, r.Reported))
	r.printLedger(l)
	l.anchor(r.Anchor)
}

func (r *reportReport) printLedger(l lines) {
	if r.Ledger == nil {
		l.print("Ledger", l.verdict("NOT HERE", l.palette.Warn), "the report was not compared with it")
		return
	}
	word, paint := string(r.Ledger.Compared), l.palette.Bad
	var text string
	switch r.Ledger.Compared {
	case daily.Same:
		paint, text = l.palette.Good, "the ledger yields exactly this report"
	case daily.Grown:
		paint = l.palette.Good
		text = fmt.Sprintf("the ledger continues that state, has %s now, and the same records of that time", plural(r.Ledger.Leaves, "leaf", "leaves"))
	case daily.Diverged:
		text = "the ledger does not continue the tree that the report is about"
	case daily.Differs:
		text = "the ledger says something else about that time"
	default:
		word, text = string(r.Ledger.Integrity), "the ledger was altered after the report: auditor verify shows the problems"
	}
	l.print("Ledger", l.verdict(word, paint), text)
}
