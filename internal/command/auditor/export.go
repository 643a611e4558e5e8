package auditor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// bundleFormat is the format of export that is no table.
const bundleFormat bundle.Format = "bundle"

// exporting are the flags of export.
type exporting struct {
	selection
	purpose

	format, out, key string
}

func exportCommand(shared *cli.Shared) *cobra.Command {
	var x exporting
	cmd := &cobra.Command{
		Use:   "export [--run RUN | --from TIME --to TIME] [--format FORMAT] [--out FILE]",
		Short: "Hand records over: as a bundle that proves them, or as a table",
		Long: `Write records of a ledger, all of them or those of a run or a range of time, as
far as they were signed when export began.

  bundle   a zip file that proves what it holds: the records byte for byte, their
           leaves and the hashes to the signed root, the checkpoint, the key, and
           a page to read in any browser. auditor verify FILE checks it, offline.
  jsonl    a line of JSON for each record, with the record's own bytes in it
  csv      a table for spreadsheets; what looks like a formula has an apostrophe
           in front
  parquet  a table for databases and notebooks: typed columns, the event's data as
           JSON, and the record's own bytes
  tiles    a folder that is the whole log in C2SP's tlog-tiles layout, without the
           records: for mirrors and checkers of others

The same ledger gives the same bytes. Export reads the ledger and needs no server.
Who exports what and why (--by, --reason, --ticket) is put on record first; see
auditor access.`,
		Example: `  auditor export --tenant acme --run r-42 --out r-42.zip
  auditor verify r-42.zip --key ledger.pub
  auditor export --from 2026-11-01 --to 2026-12-01 --format csv --out november.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd, shared) },
	}
	x.selection.register(cmd.Flags())
	x.purpose.register(cmd.Flags())
	cmd.Flags().StringVar(&x.format, "format", string(bundleFormat), "`format`: bundle, jsonl, csv, parquet or tiles")
	cmd.Flags().StringVar(&x.out, "out", "", "`file` to write, which must not be there yet, or folder of tiles; default is stdout")
	cmd.Flags().StringVar(&x.key, "key", "", "verifier `key` to put into the bundle, or a file with it; default is ledger.pub in the data directory")
	return cmd
}

func (x exporting) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	if bundle.Format(x.format) == tilesFormat {
		return x.runTiles(cmd, shared)
	}
	opts := bundle.Options{}
	if opts.Selection, err = x.parse(); err != nil {
		return err
	}
	if err := x.checkFormat(cmd); err != nil {
		return err
	}
	if bundle.Format(x.format) == bundleFormat {
		if opts.Key, err = x.publicKey(shared); err != nil {
			return err
		}
	}
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), x.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := x.record(cmd, shared, r, opts.Selection); err != nil {
		return err
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "export")
	defer bar.Finish()
	opts.Progress = func(done, total int64) { bar.Set(uint64(done), uint64(total)) }
	err = writeTo(x.out, cmd.OutOrStdout(), func(w io.Writer) error { return x.write(cmd.Context(), w, r, opts) })
	if errors.Is(err, bundle.ErrNothing) {
		return nothingChosen(r.Tenant(), opts.Selection)
	}
	return err
}

// checkFormat refuses what is no format, or not for where it is to go.
func (x exporting) checkFormat(cmd *cobra.Command) error {
	switch bundle.Format(x.format) {
	case bundle.JSONL, bundle.CSV:
	case bundleFormat, bundle.Parquet:
		if x.out == "" && cli.IsTerminal(cmd.OutOrStdout()) {
			return cli.Usage("--format %s is nothing for a terminal: name a file with --out", x.format)
		}
	default:
		return cli.Usage("--format: %q is not one of bundle, jsonl, csv, parquet and tiles", x.format)
	}
	return nil
}

// record puts on record that the selection is about to be exported.
func (x exporting) record(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, chosen ledger.Selection) error {
	d := x.access(events.AuditExport, access.SelectionOf(chosen))
	d.As = x.format
	return recordRead(cmd, shared, r, x.file, d)
}

func (x exporting) write(ctx context.Context, w io.Writer, r *ledger.Reader, opts bundle.Options) error {
	if bundle.Format(x.format) == bundleFormat {
		return bundle.WriteBundle(ctx, w, r, opts)
	}
	return bundle.WriteTable(ctx, w, r, bundle.Format(x.format), opts)
}

// publicKey returns the key that goes with a bundle.
func (x exporting) publicKey(shared *cli.Shared) (string, error) {
	if x.key != "" {
		_, text, err := keyFlag(x.key)
		return text, err
	}
	_, text, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w (name the key that goes with the bundle with --key)", err)
	}
	return text, err
}

// writeTo calls write with a new file or, if none is named, with out. The file
// has its name only when all of it is on disk.
func writeTo(file string, out io.Writer, write func(io.Writer) error) (err error) {
	if file == "" {
		buffered := bufio.NewWriter(out)
		return cmp.Or(write(buffered), buffered.Flush())
	}
	if _, err := os.Lstat(file); err == nil {
		return isThere(file)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".export-*")
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<20)
	err = write(buffered)
	if err == nil {
		err = errors.Join(buffered.Flush(), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return rename(f.Name(), file)
}

// rename gives a file its name, unless that was taken meanwhile.
func rename(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return isThere(to)
	}
	if err != nil { // not every file system has links
		return os.Rename(from, to)
	}
	return os.Remove(from)
}

func isThere(file string) error {
	return fmt.Errorf("%s is there already: name another file, or take it away", file)
}
