package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
)

type result struct {
	w io.Writer

	mu  sync.Mutex // guards err
	err error
}

// Write implements [io.Writer].
func (r *result) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err == nil {
			r.err = err
		}
	}
	return n, err
}

func (r *result) lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return fmt.Errorf("print the result: %w", r.err)
	}
	return nil
}

func fileOf(w io.Writer) *os.File {
	if r, ok := w.(*result); ok {
		w = r.w
	}
	f, _ := w.(*os.File) // nil for other writers
	return f
}
