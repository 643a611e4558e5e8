package ingest

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles a regular expression when it is first called. Hook
// commands start often, so they compile only expressions that they use.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
