package publisher

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

type opened struct {
	*bufio.Reader
	bytes *watched
	close func() error
	now   func() time.Time // for events without a time
}

type watched struct {
	io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

type inputError struct{ error }

// Unwrap returns the cause.
func (e *inputError) Unwrap() error { return e.error }

func (o *opened) failure(err error) error {
	switch failed := o.bytes.err; {
	case failed == nil, err != nil && !errors.Is(err, failed):
		return err
	case err == nil:
		err = fmt.Errorf("read: %w", failed)
	}
	return &inputError{err}
}

func (im *importer) open(ctx context.Context, in input) (*opened, error) {
	o := &opened{now: time.Now}
	var r io.Reader
	if in.path == stdinPath {
		lines := interruptible(ctx, func(w io.Writer) error {
			_, err := io.Copy(w, im.opts.Stdin)
			return err
		})
		r, o.close = endsWith(ctx, lines), lines.Close
	} else {
		f, err := openFile(ctx, in.path)
		if err != nil {
			return nil, &inputError{err}
		}
		r, o.close = f, f.Close
		if in.info != nil && in.info.Mode().IsRegular() {
			changed := in.info.ModTime()
			o.now = func() time.Time { return changed }
		}
	}
	o.bytes = &watched{Reader: r}
	o.Reader = bufio.NewReaderSize(o.bytes, ingest.HeadBytes)
	if magic, _ := o.Peek(2); string(magic) != "\x1f\x8b" { // a read error occurs again later
		return o, nil
	}
	unpacked, err := gzip.NewReader(o.Reader)
	if err != nil {
		return nil, &inputError{errors.Join(fmt.Errorf("unpack: %w", err), o.close())}
	}
	o.bytes = &watched{Reader: unpacked}
	o.Reader = bufio.NewReaderSize(o.bytes, ingest.HeadBytes)
	return o, nil
}

func endsWith(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if err != nil && ctx.Err() != nil {
			err = io.EOF
		}
		return n, err
	})
}

func openFile(ctx context.Context, name string) (io.ReadCloser, error) {
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

func (o *opened) detect(in input) (f *format, head []byte) {
	n := 1
	if in.info != nil && in.info.Mode().IsRegular() {
		n = ingest.HeadBytes
	}
	for {
		_, err := o.Peek(n)
		head, _ = o.Peek(o.Buffered())
		f = detect(head, in.path)
		if f != nil || err != nil || len(head) >= ingest.HeadBytes {
			return f, head
		}
		n = len(head) + 1
	}
}
