package install

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

func unified(from, to string, before, after []byte) string {
	return udiff.Unified(from, to, unixLines(before), unixLines(after))
}

func unixLines(text []byte) string { return strings.ReplaceAll(string(text), "\r\n", "\n") }
