package hooktrail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/app"
	"github.com/hooktrail/hooktrail/internal/capture/prices"
	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	publishercmd "github.com/hooktrail/hooktrail/internal/command/publisher"
	trackercmd "github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// DemoReport is the result of hooktrail demo.
type DemoReport struct {
	Session  string                  `json:"session"` // file name of the transcript
	Imported publisher.ImportSummary `json:"imported"`
	Runs     []ledger.RunSummary     `json:"runs"` // runs of sub-agents come last
	Title    string                  `json:"title"`
	Issues   []tracker.Issue         `json:"issues"`
	Metrics  metrics.Summary         `json:"metrics"`
	AgentFS  []string                `json:"agentfs"` // file names
	Verified verifier.Report         `json:"verified"`
	TookMS   int64                   `json:"took_ms"`
	DataDir  string                  `json:"data_dir,omitempty"` // set with --keep
}

func demoCommand(shared *cli.Shared) *cobra.Command {
	var (
		session   string
		keep      bool
		redaction publishercmd.Redaction
		setup     trackercmd.Setup
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Take a recorded agent session through the whole pipeline and prove it",
		Long: `Take a recorded agent session through the whole pipeline. The events are published
to an embedded NATS JetStream, audited into a signed ledger and an AgentFS file,
tracked as issues, counted as metrics, and verified.

The demo uses a temporary directory and removes it at the end. It ignores --data-dir
and --nats-url. It exits with 0 if the ledger is verified and complete, and otherwise
like auditor verify.`,
		Example: `  hooktrail demo
  hooktrail demo --session ~/.claude/projects/my-project/SESSION.jsonl --keep
  hooktrail demo --json | jq .verified.integrity`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := demo{session: session, redactor: redaction.Redactor()}
			if err := setup.Apply(&d.track); err != nil {
				return err
			}
			return runDemo(cmd, shared, d, keep)
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "`FILE` of a session in any format that publisher import reads, or a folder of them, instead of the recorded one")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the directory and print its path")
	cli.OwnVariable(cmd, "keep", "demo-keep", "true", "false", "1", "0") // HOOKTRAIL_KEEP is a retention rule
	redaction.Register(cmd)
	setup.RegisterAs(cmd, "tracker-")
	return cmd
}

func runDemo(cmd *cobra.Command, shared *cli.Shared, d demo, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "hooktrail-demo-")
	if err != nil {
		return fmt.Errorf("directory for the demo: %w", err)
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "import")
	d.dir, d.tenant, d.progress = dir, shared.TenantOrDefault(), bar.Set
	d.log = slog.New(slog.DiscardHandler) // the report shows the results
	if shared.Verbose {
		d.log = shared.Logger(cmd)
	}
	report, err := d.run(cmd.Context())
	bar.Finish()
	if err != nil {
		return err
	}
	if keep {
		report.DataDir = dir
	}
	err = cli.Print(cmd, shared, report, func(out io.Writer) { writeDemo(out, report) })
	if err == nil && report.Verified.Exit != verifier.ExitVerified {
		return cli.Exit(report.Verified.Exit)
	}
	return err
}

type demo struct {
	dir      string
	tenant   string
	session  string
	redactor publish.Redactor
	track    tracker.Options
	progress func(done, total uint64)
	log      *slog.Logger
}

func (d demo) run(ctx context.Context) (DemoReport, error) {
	began := time.Now()
	report, err := d.flow(ctx)
	if err != nil {
		return DemoReport{}, err
	}
	if err := d.look(ctx, &report); err != nil {
		return DemoReport{}, err
	}
	report.TookMS = time.Since(began).Milliseconds()
	return report, nil
}

func (d demo) flow(ctx context.Context) (report DemoReport, err error) {
	files, err := d.files()
	if err != nil {
		return report, err
	}
	report.Session = files[0]
	if d.session == "" {
		report.Session = sessionFile
	}
	table, err := prices.Builtin()
	if err != nil {
		return report, err
	}
	err = broker.Use(ctx, broker.Options{DataDir: d.dir, Name: "demo", Logger: d.log}, func(b *broker.Broker) error {
		report.Imported, err = publisher.Import(ctx, publisher.ImportOptions{
			Broker: b, DataDir: d.dir, Tenant: d.tenant, Paths: files,
			Redactor: d.redactor, Prices: table, Progress: d.progress, Logger: d.log,
		})
		if err != nil {
			return err
		}
		if len(report.Imported.Runs) == 0 {
			return fmt.Errorf("%s holds no run: the demo takes what publisher import does", report.Session)
		}
		return app.Consumers{Broker: b, DataDir: d.dir, Tenant: d.tenant, Track: d.track, Logger: d.log}.Drain(ctx)
	})
	return report, err
}

func (d demo) files() ([]string, error) {
	if d.session == "" {
		return unpackSession(filepath.Join(d.dir, "session"))
	}
	if info, err := os.Stat(d.session); err == nil && info.IsDir() {
		return []string{d.session}, nil
	}
	return sessionFiles(d.session)
}

// look must be called after the services have stopped.
func (d demo) look(ctx context.Context, report *DemoReport) (err error) {
	if err := d.readLedger(ctx, report); err != nil {
		return err
	}
	if report.Issues, err = tracker.List(ctx, d.dir, d.tenant); err != nil {
		return err
	}
	if report.Metrics, err = metrics.Snapshot(ctx, d.dir); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(auditor.AgentFSDir(d.dir), "*.db"))
	if err != nil {
		return fmt.Errorf("list agentfs files: %w", err)
	}
	for _, name := range files {
		report.AgentFS = append(report.AgentFS, filepath.Base(name))
	}
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(d.dir))
	if err != nil {
		return err
	}
	path, err := ledger.Path(auditor.LedgerDir(d.dir), d.tenant)
	if err != nil {
		return err
	}
	report.Verified, err = verifier.Verify(ctx, path, verifier.Options{
		Key: key, Tenant: d.tenant, Anchor: &verifier.Anchoring{Given: "the demo, which made the key"},
	})
	return err
}

func (d demo) readLedger(ctx context.Context, report *DemoReport) (err error) {
	r, err := openLedger(d.dir, d.tenant)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var started []ledger.RunSummary
	for _, run := range report.Imported.Runs {
		s, err := r.Summary(ctx, run)
		if err != nil {
			return err
		}
		if s.ParentRun == "" {
			report.Runs = append(report.Runs, s)
		} else {
			started = append(started, s)
		}
	}
	report.Runs = append(report.Runs, started...)
	t, err := readTrace(ctx, r, report.Runs[0].Run, doubts{})
	if err != nil {
		return err
	}
	for _, s := range t.Steps {
		if s.Input != "" {
			report.Title = runtree.OneLine(s.Input)
			break
		}
	}
	return nil
}
