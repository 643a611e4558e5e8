package auditor

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/daily"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/statement"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type dailyFlags struct {
	purpose
	verification

	during  selection // only from and to are used
	day     string
	out     string
	signing signing
}

func reportCommand(shared *cli.Shared) *cobra.Command {
	var d dailyFlags
	cmd := &cobra.Command{
		Use:   "report [--day DAY | --from TIME --to TIME] [--out FILE]",
		Short: "Report the verdicts and facts of a day, signed",
		Long: `Verify a ledger and report what it received in one day: the verdicts, gaps, unsealed
runs, foreign records and alarms; the records by kind, refused calls and finished
runs; who used the evidence and why; erasures, prunings, holds and changes of the key;
checkpoints and cosignatures. The default is yesterday (UTC). All times are the times
at which the server stored the records.

Integrity is about the whole ledger, and completeness about that time. The report
depends on the ledger only, so the same state of the ledger gives the same bytes. The
ledger's key signs it, from the data directory or --signing-key. Without the private
key the report is not signed, and says so. Check it with auditor verify --report FILE.

The report is text for people. With --json it is a document with the report, and the
signed text in "note". On stderr the command prints what depends on the place where it
ran: the anchor, and the events that the ledger does not have yet.

The exit status is that of auditor verify --from --to. A day without events is EMPTY,
which is no alarm. With --allow-acknowledged the report lists acknowledged findings
apart, and its status is about the others. --max-age is not part of the report. This command is recorded first; see auditor
access. auditor serve --report-dir writes a report every day.`,
		Example: `  auditor report --tenant acme --out 2026-11-19.txt
  auditor report --tenant acme --day 2026-11-19 --json | jq .report.verdict.completeness
  auditor verify --report 2026-11-19.txt --key ledger.pub`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd, shared) },
	}
	flags := cmd.Flags()
	flags.StringVar(&d.day, "day", "", "the `day` in UTC, such as 2026-11-19; default is yesterday")
	d.during.registerTimes(flags, whenStored)
	d.registerSource(flags)
	d.registerWait(flags)
	d.register(flags)
	d.signing.register(cmd, "the report")
	d.registerTolerance(flags)
	flags.StringVar(&d.out, "out", "", "new `file` to write; default is stdout")
	cmd.MarkFlagsMutuallyExclusive("day", "from")
	cmd.MarkFlagsMutuallyExclusive("day", "to")
	return cmd
}

func (d dailyFlags) period(now time.Time) (chosen ledger.Selection, err error) {
	if chosen, err = d.during.parse(); err != nil {
		return chosen, err
	}
	if d.during.isAll() {
		chosen.To = now.UTC().Truncate(day)
		chosen.From = chosen.To.Add(-day)
		if d.day != "" {
			if chosen.From, err = time.Parse(time.DateOnly, d.day); err != nil {
				return chosen, cli.Usage("--day: %q is not a day such as 2026-11-19", d.day)
			}
			chosen.To = chosen.From.Add(day)
		}
		return chosen, nil
	}
	if chosen.From.IsZero() || chosen.To.IsZero() {
		return chosen, cli.Usage("--from and --to belong together")
	}
	return chosen, nil
}

func (d dailyFlags) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	chosen, err := d.period(time.Now())
	if err != nil {
		return err
	}
	if err := checkMaxAge(cmd, d.maxAge); err != nil {
		return err
	}
	opts := verifier.Options{Silence: d.silence, From: chosen.From, To: chosen.To, AllowAcknowledged: d.allowKnown}
	if opts.Key, err = d.verifier(shared); err != nil {
		return err
	}
	opts.Changes = rotations(shared.DataDir)
	r, err := openRecorded(cmd, shared, d.file, d.access(events.AuditReport, access.SelectionOf(chosen)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	opts.Tenant = r.Tenant()
	verified, at, err := d.judge(cmd, shared, opts)
	if err != nil {
		return err
	}
	made, err := d.make(cmd, shared, r, verified)
	if err != nil {
		return err
	}
	if err := writeTo(d.out, cmd.OutOrStdout(), func(w io.Writer) error { return d.write(w, shared, made) }); err != nil {
		return err
	}
	if at != nil {
		verified.SetAsOf(*at)
		verified.LimitAge(d.maxAge)
	}
	d.say(cmd.ErrOrStderr(), made, verified)
	if status := max(made.Report.Exit, verified.Exit); status != verifier.ExitVerified {
		return cli.Exit(status)
	}
	return nil
}

func (d dailyFlags) make(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, verified verifier.Report) (made daily.Made, err error) {
	if verified.Checkpoint == nil {
		return made, &cli.StatusError{Status: verified.Exit, Err: errors.New("the ledger has no readable checkpoint: auditor verify shows the problems")}
	}
	signer, public, err := d.signing.key(cmd.ErrOrStderr(), shared)
	if err != nil {
		return made, err
	}
	rep, err := daily.Of(cmd.Context(), r, verified, d.silence)
	if err != nil {
		return made, err
	}
	made, err = daily.Make(rep, DailyText, signer, public)
	if errors.Is(err, statement.ErrOtherKey) && d.signing.file == "" {
		made, err = daily.Make(rep, DailyText, nil, "")
	}
	return made, err
}

func (d dailyFlags) write(w io.Writer, shared *cli.Shared, made daily.Made) error {
	data := made.Note
	if shared.JSON {
		var err error
		if data, err = made.JSON(); err != nil {
			return err
		}
	}
	_, err := w.Write(data)
	return err
}

func (d dailyFlags) say(out io.Writer, made daily.Made, verified verifier.Report) {
	l := lines{out: out, palette: cli.PaletteFor(out)}
	l.anchor(verified.Anchor)
	l.asOf(verified)
	for _, reason := range verified.Unproven {
		l.print("Unproven", "", reason)
	}
	if !made.Signed && !d.signing.unsigned {
		fmt.Fprintln(out, "the report is not signed, because the ledger's private key is not here (sign with --signing-key)")
	}
}
