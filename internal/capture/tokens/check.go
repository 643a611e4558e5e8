package tokens

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// File is a file with the bearer tokens of clients. It is reloaded when it changes, and safe for
// concurrent use.
type File struct {
	path string

	mu       sync.RWMutex     // guards seen, tokens and required
	seen     os.FileInfo      // describes the version of the file that was read; nil if none
	tokens   map[string]Token // by id
	required bool             // the file has existed at some time
}

// isSame compares inodes too, because two versions can have the same time.
func isSame(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// Open opens the token file at path. The file need not exist.
func Open(path string) (*File, error) {
	f := &File{path: path}
	if err := f.refresh(); err != nil {
		return nil, fmt.Errorf("open tokens: %w", err)
	}
	return f, nil
}

// Errors of [File.Check].
var (
	// ErrRequired means that a request without a token was refused, because a token is required.
	ErrRequired = errors.New("a bearer token is required")
	// ErrUnknown means that the token of a request is not in the token file.
	ErrUnknown = errors.New("the bearer token is not valid")
)

// Check returns the token with the given secret. If clients need no token, it returns the zero
// Token. If Check returns an error, the caller must refuse the request.
func (f *File) Check(secret Secret) (Token, error) {
	if err := f.refresh(); err != nil {
		return Token{}, fmt.Errorf("check token: %w", err)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	t, ok := f.tokens[secret.id()]
	switch {
	case !f.required:
		return Token{}, nil
	case secret == "":
		return Token{}, ErrRequired
	case !ok || !t.is(secret):
		return Token{}, ErrUnknown
	}
	return t, nil
}

// Required reports whether clients must send a token.
func (f *File) Required() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.required
}

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
		return nil // tokens stay required after the file is removed
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
