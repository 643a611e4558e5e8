package transparency

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	tileHeight = 8
	// TileWidth is the number of hashes or entries in a full tile.
	TileWidth = 1 << tileHeight
)

// CheckpointPath is the path of the newest checkpoint of a log.
const CheckpointPath = "checkpoint"

// A Tile identifies a static file of a tlog-tiles log, with up to 256 consecutive hashes of one
// level or entries.
//
//	tile/0/x001/x234/067        a full tile of leaf hashes
//	tile/1/004.p/12             the last tile of level 1, with 12 hashes
//	tile/entries/x001/x234/067  the entries for the first tile
type Tile struct {
	Level   int   // 0 for entries
	Number  int64 // in its level, from 0
	Width   int   // number of hashes or entries
	Entries bool
}

// Path returns the path below the prefix of the log.
func (t Tile) Path() string {
	path := t.hashes().Path()
	if t.Entries {
		path = strings.Replace(path, "tile/8/0/", "tile/8/entries/", 1)
	}
	return strings.Replace(path, "tile/8/", "tile/", 1)
}

func (t Tile) hashes() tlog.Tile {
	return tlog.Tile{H: tileHeight, L: t.Level, N: t.Number, W: t.Width}
}

// First returns the index of the first entry below the tile.
func (t Tile) First() int64 { return t.Number << (tileHeight * (t.Level + 1)) }

// In reports whether the tile lies completely inside a tree with size leaves.
func (t Tile) In(size int64) bool {
	return (size>>(tileHeight*t.Level))-t.Number<<tileHeight >= int64(t.Width)
}

// Hashes returns the content of a tile of hashes. For a tile of entries, it returns the leaf
// hashes of these entries.
func (t Tile) Hashes(stored tlog.HashReader) ([]byte, error) {
	return tlog.ReadTileData(t.hashes(), stored)
}

var errTile = errors.New("not the path of a tile")

// ParseTilePath parses the path of [Tile.Path] and rejects every other path.
func ParseTilePath(path string) (Tile, error) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok {
		return Tile{}, errTile
	}
	entries, isEntries := strings.CutPrefix(rest, "entries/")
	if isEntries {
		rest = "0/" + entries
	}
	h, err := tlog.ParseTilePath("tile/8/" + rest)
	// Prevent integer overflows.
	if err != nil || h.L < 0 || h.L > 6 || h.N < 0 || h.N > math.MaxInt64>>(tileHeight*(h.L+1)) {
		return Tile{}, errTile
	}
	t := Tile{Level: h.L, Number: h.N, Width: h.W, Entries: isEntries}
	if t.Path() != path {
		return Tile{}, errTile
	}
	return t, nil
}

// Tiles returns all tiles of a log with size entries.
func Tiles(size int64) []Tile {
	var all []Tile
	for _, h := range tlog.NewTiles(tileHeight, 0, size) {
		t := Tile{Level: h.L, Number: h.N, Width: h.W}
		all = append(all, t)
		if t.Level == 0 {
			t.Entries = true
			all = append(all, t)
		}
	}
	return all
}

// EncodeEntries returns the content of a tile of entries. Each entry follows its length in two
// bytes.
func EncodeEntries(entries [][]byte) ([]byte, error) {
	var data []byte
	for _, e := range entries {
		if len(e) > math.MaxUint16 {
			return nil, fmt.Errorf("an entry of %d bytes does not fit into a tile", len(e))
		}
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(e))), e...)
	}
	return data, nil
}
