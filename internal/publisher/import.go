package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/hooktrail/hooktrail/internal/broker"
	"github.com/hooktrail/hooktrail/internal/ingest"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// ImportOptions say what to import and where to.
type ImportOptions struct {
	Broker  *broker.Broker
	DataDir string   // the outbox is DataDir/outbox/import
	Tenant  string   // whose the runs are; "default" when empty
	Format  string   // "claude-code"
	Paths   []string // files, and folders in which transcripts are looked for

	Redactor publish.Redactor // all rules of pkg/redact when nil; [publish.NoRedaction] opts out

	Progress func(done, total uint64) // in bytes of input; may be nil
	Logger   *slog.Logger
}

// ImportSummary says what an import did.
type ImportSummary struct {
	Counts
	Files     []FileSummary `json:"files"`
	Runs      []string      `json:"runs"`
	Malformed int           `json:"malformed"`         // lines
	Lines     []Malformed   `json:"malformed_lines"`   // the first thousand of them
	Skipped   []string      `json:"skipped,omitempty"` // files of sub-agents beside the given ones
}

// FileSummary says what one file held.
type FileSummary struct {
	File string `json:"file"`
	Counts
	Malformed int `json:"malformed"`
}

// Import reads transcripts and returns once all their events are in the stream.
// What it imported before adds nothing. The summary is valid with an error too:
// it then tells how far the import came. What was taken and not sent stays in
// the outbox.
func Import(ctx context.Context, opts ImportOptions) (sum ImportSummary, err error) {
	if opts.Tenant == "" {
		opts.Tenant = "default"
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if err := checkFormat(opts.Format); err != nil {
		return sum, err
	}
	found, err := findTranscripts(opts.Paths)
	if err != nil {
		return sum, err
	}
	sum.Skipped = found.skipped
	p, err := openOutbox(ctx, opts.Broker, opts.DataDir,
		publish.Options{Name: "import", Tenant: opts.Tenant, Unique: true, Redactor: opts.Redactor}, opts.Logger)
	if err != nil {
		return sum, err
	}
	im := &importer{opts: opts, feed: feed{sink: p, runs: map[string]struct{}{}}, total: found.bytes}
	err = im.files(ctx, found.files)
	im.summarise(&sum)
	return sum, errors.Join(err, closeOutbox(ctx, p, outboxDir(opts.DataDir, "import")))
}

// importer is the state of one import.
type importer struct {
	opts        ImportOptions
	feed        feed
	list        []FileSummary
	done, total uint64 // bytes
}

// files imports one file after the other. One that cannot be read is told at
// the end; the others are imported all the same.
func (im *importer) files(ctx context.Context, files []string) error {
	var unread error
	for _, file := range files {
		before, malformed := im.feed.counts, im.feed.malformed
		err := im.file(ctx, file)
		after := im.feed.counts
		if err == nil || after != before {
			im.list = append(im.list, FileSummary{
				File: file, Malformed: im.feed.malformed - malformed,
				Counts: Counts{Events: after.Events - before.Events, New: after.New - before.New, Known: after.Known - before.Known},
			})
		}
		broken, isPath := errors.AsType[*fs.PathError](err)
		switch {
		case ctx.Err() != nil:
			return errors.Join(unread, fmt.Errorf("interrupted in %s: %w", file, ctx.Err()))
		case isPath && broken.Path == file:
			unread = errors.Join(unread, fmt.Errorf("import %s: %w", file, err))
		case err != nil:
			return errors.Join(unread, fmt.Errorf("import %s: %w", file, err))
		}
	}
	return unread
}

func (im *importer) file(ctx context.Context, name string) (err error) {
	f, err := openInput(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	read := formatNamed(im.opts.Format)
	return im.feed.take(ctx, name, read.events(ctx, im.counted(f), ingest.Options{File: name, Tenant: im.opts.Tenant}))
}

// openInput opens a file. What is no regular one, a pipe for example, can keep
// its opener and its reader waiting: the end of ctx ends both.
func openInput(ctx context.Context, name string) (io.ReadCloser, error) {
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		return os.Open(name)
	}
	return interruptible(ctx, func(w io.Writer) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return errors.Join(err, f.Close())
	}), nil
}

func (im *importer) summarise(sum *ImportSummary) {
	sum.Counts, sum.Files = im.feed.counts, im.list
	sum.Malformed, sum.Lines = im.feed.malformed, im.feed.list
	for run := range im.feed.runs {
		sum.Runs = append(sum.Runs, run)
	}
	slices.Sort(sum.Runs)
}

// counted returns r, whose bytes count as progress.
func (im *importer) counted(r io.Reader) io.Reader {
	if im.opts.Progress == nil {
		return r
	}
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		im.done += uint64(n)
		im.opts.Progress(im.done, max(im.total, im.done))
		return n, err
	})
}

type readerFunc func([]byte) (int, error)

// Read calls f.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
