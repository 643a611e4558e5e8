package ingest

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles a regular expression at its first use, because hook
// commands start often.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
