package auditor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const bundleFormat bundle.Format = "bundle"

type exportFlags struct {
	selection
	purpose

	format, out, key string
	signing          signing

	wait time.Duration
}

func exportCommand(shared *cli.Shared) *cobra.Command {
	var x exportFlags
	cmd := &cobra.Command{
		Use:   "export [--run RUN | --from TIME --to TIME] [--format FORMAT] [--out FILE]",
		Short: "Export records as a bundle with proofs, or as a table",
		Long: `Export all records of a ledger, or the records of a run or a range of time. Export
stops at the checkpoint that is the newest when it starts. --from and --to are times at
which the server stored the records, as in verify, report and coverage.

  bundle   a zip file with the records, their leaves, the hashes up to the signed
           root, the checkpoint, the key, and a page for any browser. It can be
           checked offline with auditor verify FILE.
  jsonl    a line of JSON for each record, with the original bytes of the record
  csv      a table for spreadsheets; a cell that looks like a formula begins with
           an apostrophe
  parquet  a table for databases and notebooks, with typed columns, the data of the
           event as JSON, and the original bytes of the record
  ocsf     a line of JSON for each record in the Open Cybersecurity Schema Framework
           1.8.0, for SIEMs; with the leaf, the event id and the SHA-256 of the record,
           and without prompts, messages and results
  tiles    a folder with the whole log in the tlog-tiles layout of C2SP, without
           the records, for mirrors and other checkers

A bundle holds a statement about its contents that the ledger's key signs. Without
the private key in the data directory or in --signing-key, the bundle has none, and
verify never finds it COMPLETE. Before it writes a bundle, export verifies the whole
ledger. It exits with 40 if the ledger is INVALID. With --unsigned it writes the bundle
first, unless a record in it was altered.

The same ledger gives the same bytes. Export reads the ledger file and needs no
server. It prints on stderr up to which position in the stream the export speaks, and
which events are not in the ledger yet. It compares each record with its leaf, and exits
with 40 at one that was altered. The export is recorded first, with --by, --reason and
--ticket; see auditor access.`,
		Example: `  auditor export --tenant acme --run r-42 --out r-42.zip
  auditor verify r-42.zip --key ledger.pub
  auditor export --from 2026-11-01 --to 2026-12-01 --format csv --out november.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd, shared) },
	}
	x.selection.register(cmd.Flags(), whenStored)
	x.purpose.register(cmd.Flags())
	x.signing.register(cmd, "the selection of a bundle")
	cmd.Flags().DurationVar(&x.wait, "wait", defaultWait, waitUsage)
	cmd.Flags().StringVar(&x.format, "format", string(bundleFormat), "`format`: bundle, jsonl, csv, parquet, ocsf or tiles")
	// HOOKTRAIL_FORMAT sets the format of publisher import, so --format has another variable here.
	cli.OwnVariable(cmd, "format", "export-format", "bundle", "jsonl", "csv", "parquet", "ocsf", "tiles")
	_ = cmd.RegisterFlagCompletionFunc("format", shared.Completion(cli.Words("bundle", "jsonl", "csv", "parquet", "ocsf", "tiles")))
	cmd.Flags().StringVar(&x.out, "out", "", "new `file` to write, or folder of tiles; default is stdout")
	cmd.Flags().StringVar(&x.key, "key", "", "verifier `key` to put into the bundle, or a file with it; default is ledger.pub in the data directory")
	return cmd
}

func (x exportFlags) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	if bundle.Format(x.format) == tilesFormat {
		return x.runTiles(cmd, shared)
	}
	opts := bundle.Options{}
	if opts.Selection, err = x.find(cmd, shared); err != nil {
		return err
	}
	opts.Selection.Stored = true
	if err := cmp.Or(x.checkFormat(cmd), findLedger(shared.DataDir, shared.TenantOrDefault(), x.file)); err != nil {
		return err
	}
	if bundle.Format(x.format) == bundleFormat {
		if opts.Key, opts.Signer, err = x.keys(cmd.ErrOrStderr(), shared); err != nil {
			return err
		}
		opts.Changes = rotations(shared.DataDir)
	}
	r, err := x.open(cmd, shared, opts.Selection)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	say, err := x.asOf(cmd, shared, r)
	if err != nil {
		return err
	}
	defer func() { say(err) }()
	bar := cli.NewProgress(cmd.ErrOrStderr(), "export")
	defer bar.Finish()
	opts.Progress = func(done, total int64) { bar.Set(uint64(done), uint64(total)) }
	err = writeTo(x.out, cmd.OutOrStdout(), func(w io.Writer) error { return x.write(cmd, w, r, opts) })
	if errors.Is(err, bundle.ErrNothing) {
		return nothingChosen(r.Tenant(), opts.Selection)
	}
	if err == nil && x.signing.unsigned && bundle.Format(x.format) == bundleFormat {
		err = x.signing.reportInvalid(cmd, r, opts)
	}
	return err
}

func (x exportFlags) checkFormat(cmd *cobra.Command) error {
	switch bundle.Format(x.format) {
	case bundle.JSONL, bundle.CSV, bundle.OCSF:
	case bundleFormat, bundle.Parquet:
		if x.out == "" && cli.IsTerminal(cmd.OutOrStdout()) {
			return cli.Usage("--format %s is binary: name a file with --out", x.format)
		}
	default:
		return cli.Usage("--format: %q is not one of bundle, jsonl, csv, parquet, ocsf and tiles", x.format)
	}
	return nil
}

func (x exportFlags) open(cmd *cobra.Command, shared *cli.Shared, chosen ledger.Selection) (*ledger.Reader, error) {
	d := x.access(events.AuditExport, access.SelectionOf(chosen))
	d.As = x.format
	r, err := openRecorded(cmd, shared, x.file, d)
	return r, damaged(err)
}

func (x exportFlags) write(cmd *cobra.Command, w io.Writer, r *ledger.Reader, opts bundle.Options) error {
	if bundle.Format(x.format) == bundleFormat {
		return x.signing.write(cmd, w, r, opts)
	}
	return damaged(bundle.WriteTable(cmd.Context(), w, r, bundle.Format(x.format), opts))
}

func (x exportFlags) keys(stderr io.Writer, shared *cli.Shared) (public string, signer note.Signer, err error) {
	signer, public, err = x.signing.key(stderr, shared)
	if err != nil || x.signing.file != "" && x.key == "" {
		return public, signer, err
	}
	public, err = x.publicKey(shared)
	return public, signer, err
}

func (x exportFlags) publicKey(shared *cli.Shared) (string, error) {
	if x.key != "" {
		text, err := keyFlag(x.key)
		return text, err
	}
	_, text, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w (name the key for the bundle with --key)", err)
	}
	return text, err
}
