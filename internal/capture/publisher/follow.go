package publisher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

type followed struct {
	info  fs.FileInfo // nil before the first read
	ended time.Time
	took  time.Duration
	done  bool // the file was taken as complete
}

// After a search for files, the pause is at least pauseFactor times as long as the search was.
const pauseFactor = 10

// follow reads a changed file from the start, because tools can replace files.
func (im *importer) follow(ctx, work context.Context) error {
	for {
		began := time.Now()
		inputs, err := im.find(ctx)
		if err != nil {
			return err
		}
		took := time.Since(began)
		for _, in := range inputs {
			if ctx.Err() != nil {
				break
			}
			if err := im.update(work, in); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return im.complete(work)
		}
		wait := time.NewTimer(max(im.opts.Poll, pauseFactor*took))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

func (im *importer) find(ctx context.Context) ([]input, error) {
	var all []input
	for _, path := range im.opts.Paths {
		found, err := findTranscripts([]string{path}, extsOf(im.opts.Format))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoTranscripts), errors.Is(err, errNoMatch):
		case err != nil && ctx.Err() == nil:
			return nil, err
		}
		all = append(all, found.inputs...)
	}
	return all, nil
}

func (im *importer) state(in input) (f *file, changed bool) {
	f = im.files[in.path]
	if f == nil {
		f = &file{input: in}
		im.files[in.path] = f
	}
	before, now := f.state.info, in.info
	return f, before == nil || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) || !os.SameFile(before, now)
}

func (im *importer) update(work context.Context, in input) error {
	f, changed := im.state(in)
	now := time.Now()
	rested := now.Sub(in.info.ModTime()) >= im.opts.Rest
	switch {
	case changed && now.Sub(f.state.ended) < pauseFactor*f.state.took:
		return nil
	case !changed && (f.state.done || !rested):
		return nil
	}
	return im.reread(work, f, in, !rested)
}

func (im *importer) complete(work context.Context) error {
	inputs, err := im.find(work)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		f, changed := im.state(in)
		if f.state.done && !changed {
			continue
		}
		if err := im.reread(work, f, in, false); err != nil {
			return err
		}
	}
	return nil
}

func (im *importer) reread(work context.Context, f *file, in input, open bool) error {
	began, before := time.Now(), f.fresh
	err := im.read(work, work, in, open)
	if open && errors.Is(err, ErrUnrecognised) { // the line that identifies the format may follow
		err = nil
	}
	f.state = followed{info: in.info, ended: time.Now(), took: time.Since(began), done: !open}
	if _, ok := errors.AsType[*inputError](err); ok {
		im.opts.Logger.WarnContext(work, "transcript could not be read", "file", in.path, "error", err)
		err = nil // the next change of the file leads to another attempt
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", in.path, err)
	}
	if added := f.fresh - before; added > 0 {
		im.opts.Logger.InfoContext(work, "transcript imported", "file", in.path, "new_events", added, "complete", !open)
	}
	return nil
}
