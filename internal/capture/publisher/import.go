package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/prices"
	"github.com/hooktrail/hooktrail/internal/platform/buildinfo"
	"github.com/hooktrail/hooktrail/internal/platform/hookid"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// ImportOptions configure [Import].
type ImportOptions struct {
	Broker  *broker.Broker
	DataDir string // the outbox is DataDir/outbox/import
	Tenant  string // tenant of the runs; "default" if empty
	Format  string // format of the inputs; empty or [AutoFormat] detects it
	Paths   []string
	// Force imports files as Format even if they look like another format. Confirm is then not
	// called.
	Force   bool
	Confirm func(question string) bool
	Stdin   io.Reader // input of the path "-"

	// Follow makes Import read new lines and files until ctx ends. The end of ctx is then not an
	// error.
	Follow bool
	Poll   time.Duration // interval of the search for changes; default 250 ms
	Rest   time.Duration // the runs of a file end after this time without a change; default 1 minute

	Redactor publish.Redactor // nil for all rules of pkg/redact
	Prices   *prices.Table    // for the costs of runs that state none; nil estimates none

	Progress func(done, total uint64) // in bytes of input; may be nil
	Logger   *slog.Logger

	version string // for tests
}

func (o ImportOptions) withDefaults() ImportOptions {
	o.Tenant = orDefault(o.Tenant)
	o.Format = cmp.Or(o.Format, AutoFormat)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Rest = cmp.Or(o.Rest, DefaultRest)
	o.version = cmp.Or(o.version, buildinfo.Version())
	if o.Poll <= 0 {
		o.Poll = 250 * time.Millisecond
	}
	return o
}

// DefaultRest is how long a file must be unchanged before its runs end, if [ImportOptions.Rest] is
// not set.
const DefaultRest = time.Minute

// ErrFollowStdin means that ImportOptions.Follow is set and stdin is one of the inputs.
var ErrFollowStdin = errors.New("stdin cannot be followed; without --follow, import reads stdin until it ends")

// Validate reports the first invalid option.
func (o ImportOptions) Validate() error {
	if o.Follow && slices.Contains(o.Paths, stdinPath) {
		return ErrFollowStdin
	}
	if o.Rest < 0 {
		return fmt.Errorf("rest %v: must not be negative", o.Rest)
	}
	return checkFormat(o.withDefaults().Format)
}

// Import reads transcripts and returns when all new events are in the stream. After an error, the
// summary covers the imported part.
func Import(ctx context.Context, opts ImportOptions) (sum ImportSummary, err error) {
	if err := opts.Validate(); err != nil {
		return sum, err
	}
	opts = opts.withDefaults()
	found, err := findTranscripts(opts.Paths, extsOf(opts.Format))
	isEmpty := errors.Is(err, errNoTranscripts) || errors.Is(err, errNoMatch) // files may appear later
	sum.Skipped, sum.Refused = found.skipped, found.refused
	switch {
	case opts.Follow && (err == nil || isEmpty):
		err = nil
	case opts.Follow, len(found.inputs) == 0 && err != nil:
		return sum, err
	}
	missing := err
	key, err := hookid.Key(opts.DataDir)
	if err != nil {
		return sum, err
	}
	p, seen, err := openImport(ctx, opts, key)
	if err != nil {
		return sum, err
	}
	im := &importer{opts: opts, hookKey: key, sink: p, contents: seen, runs: map[string]struct{}{}, files: map[string]*file{}, total: found.bytes}
	work, stop := lingering(ctx)
	defer stop()
	if opts.Follow {
		err = im.follow(ctx, work)
	} else {
		err = im.all(ctx, work, found.inputs)
	}
	im.summarise(&sum)
	sum.Sent = Sent{Producer: p.Stats().Producer, Tenants: []string{opts.Tenant}}
	if opts.Follow {
		ctx = work
	}
	return sum, errors.Join(err, missing, found.unread, seen.close(), closeOutbox(ctx, p, outboxDir(opts.DataDir, "import")))
}

const lingerTimeout = 10 * time.Second

func lingering(ctx context.Context) (work context.Context, stop context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lingerTimeout, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() {
		release()
		cancel()
	}
}

type importer struct {
	opts        ImportOptions
	hookKey     []byte // of [hookid.Key]
	sink        republisher
	contents    *contents
	runs        map[string]struct{}
	files       map[string]*file // by path
	order       []*file
	unknown     []string // files in folders with an unknown format
	refused     []Refused
	done, total uint64 // bytes
	here        uint64 // bytes of the current input that were read
}

type file struct {
	input
	format string
	feed   feed // result of the latest read
	fresh  int  // new events of all reads
	edited int  // changed events of all reads

	recorded bool
	state    followed
}

func (im *importer) all(ctx, work context.Context, inputs []input) error {
	var unread error
	for _, in := range inputs {
		until := ctx
		if in.path == stdinPath {
			until = work // stdin cannot be read again
		}
		err := im.read(ctx, until, in, false)
		_, isInput := errors.AsType[*inputError](err)
		switch {
		case err != nil && ctx.Err() != nil:
			return errors.Join(unread, fmt.Errorf("interrupted in %s: %w", in.path, ctx.Err()))
		case errors.Is(err, ErrUnrecognised), isInput:
			im.refused = append(im.refused, Refused{inputName(in.path), err.Error()})
			unread = errors.Join(unread, fmt.Errorf("import %s: %w", in.path, err))
		case err != nil:
			return errors.Join(unread, fmt.Errorf("import %s: %w", in.path, err))
		}
	}
	if len(im.order) == 0 && len(im.unknown) > 0 && unread == nil {
		return fmt.Errorf("%d files, none in a format that import reads, which are %s: %w", len(im.unknown), FormatNames(), ErrUnrecognised)
	}
	return unread
}

// read imports one input and stops reading when ctx ends. It still appends the events that it has
// read by then, unless work ends.
func (im *importer) read(ctx, work context.Context, in input, open bool) (err error) {
	o, err := im.open(ctx, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	defer im.finishInput(in)
	begins, head := o.detect(in)
	switch {
	case len(head) == 0 && o.bytes.err != nil:
		return o.failure(nil)
	case len(head) == 0:
		im.record(in, "", feed{})
		return nil
	}
	format, err := im.choose(in, begins, head)
	if format == nil {
		return err
	}
	feed := feed{sink: comparing{im.sink, im.contents, format}, runs: im.runs}
	err = feed.take(work, in.path, format.events(work, im.counted(o), ingest.Options{
		File: inputName(in.path), Tenant: im.opts.Tenant, Now: o.now, Open: open, HookKey: im.hookKey, Prices: im.opts.Prices,
	}))
	err = o.failure(err)
	if err == nil || feed.counts.Events > 0 {
		im.record(in, format.name, feed)
	}
	return err
}

func inputName(path string) string {
	if path == stdinPath {
		return "stdin"
	}
	return path
}

func (im *importer) choose(in input, begins *format, head []byte) (*format, error) {
	wanted := formatNamed(im.opts.Format)
	switch {
	case !in.given:
		return im.chooseFound(in, begins, wanted), nil
	case wanted == nil && begins == nil:
		return nil, unknownFormat(head, in.path)
	case wanted == nil, wanted == begins, im.opts.Force:
		return cmp.Or(wanted, begins), nil
	}
	question := fmt.Sprintf("%s does not look like %s. Import it nevertheless?", inputName(in.path), wanted.name)
	if im.opts.Confirm != nil && im.opts.Confirm(question) {
		return wanted, nil
	}
	return nil, otherFormat(begins, wanted.name)
}

func (im *importer) chooseFound(in input, begins, wanted *format) *format {
	if begins == nil && !slices.Contains(im.unknown, in.path) && len(im.unknown) < maxMalformed {
		im.unknown = append(im.unknown, in.path)
	}
	if wanted != nil && wanted != begins {
		return nil
	}
	return begins
}

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
	f.edited += read.counts.Changed
}

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

func (im *importer) finishInput(in input) {
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
