package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// ImportOptions say what to import and where to.
type ImportOptions struct {
	Broker  *broker.Broker
	DataDir string    // the outbox is DataDir/outbox/import
	Tenant  string    // whose the runs are; "default" when empty
	Format  string    // of the inputs; empty and "auto" tell it from each of them
	Paths   []string  // files, patterns, folders in which transcripts are looked for, and "-"
	Stdin   io.Reader // what "-" reads

	// Follow goes on with what is added to the files, and with new files of the
	// folders, until ctx ends, which is no error then.
	Follow bool
	Poll   time.Duration // how often it looks; default 250 ms
	Rest   time.Duration // after which time without a change a file's runs are finished; default 1 minute

	Redactor publish.Redactor // all rules of pkg/redact when nil; [publish.NoRedaction] opts out

	Progress func(done, total uint64) // in bytes of input; may be nil
	Logger   *slog.Logger
}

func (o ImportOptions) withDefaults() ImportOptions {
	if o.Tenant == "" {
		o.Tenant = "default"
	}
	if o.Format == "" {
		o.Format = AutoFormat
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.Rest == 0 {
		o.Rest = DefaultRest
	}
	return o
}

// DefaultRest is the time without a change after which the runs of a file that is
// followed are finished.
const DefaultRest = time.Minute

// ErrFollowStdin is the refusal to follow stdin, which ends by itself.
var ErrFollowStdin = errors.New("stdin cannot be followed: without --follow it is read as it comes, until it ends")

// Validate returns what is wrong with the options.
func (o ImportOptions) Validate() error {
	if o.Follow && slices.Contains(o.Paths, stdinPath) {
		return ErrFollowStdin
	}
	if o.Rest < 0 {
		return fmt.Errorf("rest %v: it cannot be negative", o.Rest)
	}
	return checkFormat(o.withDefaults().Format)
}

// Import reads transcripts and returns once all their events are in the stream.
// What it imported before adds nothing. The summary is valid with an error too:
// it then tells how far the import came. What was taken and not sent stays in
// the outbox.
func Import(ctx context.Context, opts ImportOptions) (sum ImportSummary, err error) {
	if err := opts.Validate(); err != nil {
		return sum, err
	}
	opts = opts.withDefaults()
	found, err := findTranscripts(opts.Paths, extsOf(opts.Format))
	isEmpty := errors.Is(err, errNoTranscripts) || errors.Is(err, errNoMatch) // and can have something later
	if err != nil && (!opts.Follow || !isEmpty) {
		return sum, err
	}
	sum.Skipped = found.skipped
	p, err := openOutbox(ctx, opts.Broker, opts.DataDir,
		publish.Options{Name: "import", Tenant: opts.Tenant, Unique: true, Redactor: opts.Redactor}, opts.Logger)
	if err != nil {
		return sum, err
	}
	im := &importer{opts: opts, sink: p, runs: map[string]struct{}{}, files: map[string]*file{}, total: found.bytes}
	// What is under way when ctx ends has some time to come to its end.
	work, stop := lingering(ctx)
	defer stop()
	if opts.Follow {
		err = im.follow(ctx, work)
	} else {
		err = im.all(ctx, work, found.inputs)
	}
	im.summarise(&sum)
	if opts.Follow {
		ctx = work
	}
	return sum, errors.Join(err, found.unread, closeOutbox(ctx, p, outboxDir(opts.DataDir, "import")))
}

// lingerFor is how long an interrupted import goes on with what it has begun.
const lingerFor = 10 * time.Second

// lingering returns a context that ends some time after ctx has ended, or with
// stop.
func lingering(ctx context.Context) (work context.Context, stop context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lingerFor, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() {
		release()
		cancel()
	}
}

// importer is the state of one import.
type importer struct {
	opts        ImportOptions
	sink        sink
	runs        map[string]struct{}
	files       map[string]*file // by path
	order       []*file
	unknown     []string // files in folders that are of no format
	done, total uint64   // bytes
	here        uint64   // of the present input
}

// file is what is known of one input.
type file struct {
	input
	format string
	feed   feed // of its latest reading
	fresh  int  // events that were new, in all readings

	recorded bool // in the report
	state    followed
}

// all imports one input after the other. One that cannot be read is told at the
// end; the others are imported all the same.
func (im *importer) all(ctx, work context.Context, inputs []input) error {
	var unread error
	for _, in := range inputs {
		until := ctx
		if in.path == stdinPath {
			until = work // what came from it cannot be read again
		}
		err := im.read(ctx, until, in, false)
		_, isInput := errors.AsType[*inputError](err)
		switch {
		case err != nil && ctx.Err() != nil:
			return errors.Join(unread, fmt.Errorf("interrupted in %s: %w", in.path, ctx.Err()))
		case errors.Is(err, ErrUnrecognised), isInput:
			unread = errors.Join(unread, fmt.Errorf("import %s: %w", in.path, err))
		case err != nil:
			return errors.Join(unread, fmt.Errorf("import %s: %w", in.path, err))
		}
	}
	if len(im.order) == 0 && len(im.unknown) > 0 && unread == nil {
		return fmt.Errorf("%d files, none in a format that import reads: %w", len(im.unknown), ErrUnrecognised)
	}
	return unread
}

// ErrUnrecognised is the refusal of a file that is of no format.
var ErrUnrecognised = errors.New("its format is not known")

// read imports an input: from ctx, which ends the reading, until work ends, which
// ends the appending too. An input that is open is still being written.
func (im *importer) read(ctx, work context.Context, in input, open bool) (err error) {
	o, err := im.open(ctx, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	defer im.passed(in)
	format, name := formatNamed(im.opts.Format), im.opts.Format
	if format == nil || !in.given {
		begins, head := o.detect(in)
		switch {
		case len(head) == 0 && o.bytes.err != nil:
			return o.failure(nil)
		case len(head) == 0:
			im.record(in, "", feed{})
			return nil
		case begins == nil:
			return im.unrecognised(in)
		case format != nil && format != begins:
			return nil // of a folder only those of one format are asked for
		}
		format, name = begins, begins.name
	}
	feed := feed{sink: im.sink, runs: im.runs}
	err = feed.take(work, in.path, format.events(work, im.counted(o), ingest.Options{
		File: inputName(in.path), Tenant: im.opts.Tenant, Now: o.now, Open: open,
	}))
	err = o.failure(err)
	if err == nil || feed.counts.Events > 0 {
		im.record(in, name, feed)
	}
	return err
}

// inputName names an input in reports.
func inputName(path string) string {
	if path == stdinPath {
		return "stdin"
	}
	return path
}

// unrecognised notes a file in a folder that is of no format, and refuses one
// that was given.
func (im *importer) unrecognised(in input) error {
	if in.given {
		return ErrUnrecognised
	}
	if !slices.Contains(im.unknown, in.path) && len(im.unknown) < maxMalformed {
		im.unknown = append(im.unknown, in.path)
	}
	return nil
}

// record keeps what a reading of an input gave: the latest counts.
func (im *importer) record(in input, format string, read feed) {
	f := im.files[in.path]
	if f == nil {
		f = &file{}
		im.files[in.path] = f
	}
	if !f.recorded {
		f.recorded = true
		im.order = append(im.order, f)
	}
	f.input, f.format, f.feed = in, format, read
	f.fresh += read.counts.New
}

// counted returns r, whose bytes count as progress.
func (im *importer) counted(r io.Reader) io.Reader {
	if im.opts.Progress == nil {
		return r
	}
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		im.here += uint64(n)
		im.progress()
		return n, err
	})
}

// passed counts an input as done, however much of it was read.
func (im *importer) passed(in input) {
	if in.info != nil {
		im.here = uint64(in.info.Size())
	}
	im.done += im.here
	im.here = 0
	im.progress()
}

func (im *importer) progress() {
	if im.opts.Progress != nil {
		im.opts.Progress(im.done+im.here, max(im.total, im.done+im.here))
	}
}

type readerFunc func([]byte) (int, error)

// Read calls f.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
