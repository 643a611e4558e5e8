package disk

import (
	"bytes"
	"hash/crc32"
	"testing"
)

// The first checksums of a process and later ones are equal.
func TestChecksum(t *testing.T) {
	text := bytes.Repeat([]byte("event \x00\xff"), 1000)
	for range 3 * slowBytes / len(text) {
		for _, n := range []int{0, 1, 100, len(text)} {
			if got, want := Checksum(text[:n]), crc32.Checksum(text[:n], crc32.MakeTable(crc32.Castagnoli)); got != want {
				t.Fatalf("%d bytes: got %x, want %x", n, got, want)
			}
		}
	}
}
