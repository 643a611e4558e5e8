package tokens

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// File is a file of tokens that is read again when it changes. Its methods may
// be called concurrently.
type File struct {
	path string

	mu       sync.RWMutex     // guards what follows
	seen     os.FileInfo      // of what was read; nil when there is none, or it could not be
	tokens   map[string]Token // by id
	required bool             // there was a file at some time
}

// isSame reports whether two stats are of the same version of a file. One that is
// replaced by another of the same size within a clock tick has another inode.
func isSame(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// Open returns the tokens in the file at path, which need not be there yet. It
// fails if what is there cannot be read.
func Open(path string) (*File, error) {
	f := &File{path: path}
	if err := f.refresh(); err != nil {
		return nil, fmt.Errorf("open tokens: %w", err)
	}
	return f, nil
}

// Errors of [File.Check].
var (
	// ErrRequired is returned for no token at all where tokens are required.
	ErrRequired = errors.New("a bearer token is required")
	// ErrUnknown is returned for a token that is not in the file.
	ErrUnknown = errors.New("the bearer token is not valid")
)

// Check returns the token that secret is; the zero Token for whatever secret
// where no tokens are required, which is as long as there was no file. Its other
// errors say that the file cannot be read: nobody is let in then.
func (f *File) Check(secret Secret) (Token, error) {
	if err := f.refresh(); err != nil {
		return Token{}, fmt.Errorf("check token: %w", err)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	t, known := f.tokens[secret.id()]
	switch {
	case !f.required:
		return Token{}, nil
	case secret == "":
		return Token{}, ErrRequired
	case !known || !t.is(secret):
		return Token{}, ErrUnknown
	}
	return t, nil
}

// Required reports whether senders need a token.
func (f *File) Required() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.required
}

// refresh reads the file if it has changed, or could not be read before.
func (f *File) refresh() error {
	info, err := os.Stat(f.path)
	gone := errors.Is(err, fs.ErrNotExist)
	f.mu.RLock()
	same := err == nil && f.seen != nil && isSame(f.seen, info) || gone && f.seen == nil
	f.mu.RUnlock()
	if same {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens, f.seen = nil, nil
	if gone {
		return nil // taken away: whoever needed a token still does
	}
	f.required = true
	if err != nil {
		return err
	}
	c, err := read(f.path)
	if err != nil {
		return err
	}
	f.seen = info
	f.tokens = make(map[string]Token, len(c.Tokens))
	for _, t := range c.Tokens {
		f.tokens[t.ID] = t
	}
	return nil
}
