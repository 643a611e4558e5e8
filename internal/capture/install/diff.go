package install

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// unified returns the difference of two texts as a unified diff. It is empty for
// equal texts. Both kinds of line ends count as equal.
func unified(from, to string, before, after []byte) string {
	return udiff.Unified(from, to, unixLines(before), unixLines(after))
}

func unixLines(text []byte) string { return strings.ReplaceAll(string(text), "\r\n", "\n") }
