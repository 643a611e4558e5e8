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
	// TileWidth is how many hashes or entries a full tile has.
	TileWidth = 1 << tileHeight
)

// CheckpointPath is where a log has its newest checkpoint.
const CheckpointPath = "checkpoint"

// Tile is one of the static files that tlog-tiles cuts a log into: up to 256
// consecutive hashes of a level of the tree, or the entries below them.
//
//	tile/0/x001/x234/067        a full tile of leaf hashes
//	tile/1/004.p/12             the last tile of level 1, of 12 hashes
//	tile/entries/x001/x234/067  the entries of the first one
type Tile struct {
	Level   int   // of the hashes, 0 for entries
	Number  int64 // among the tiles of its level, from 0
	Width   int   // hashes or entries that it has
	Entries bool
}

// Path returns where the log has the tile, behind its prefix.
func (t Tile) Path() string {
	path := t.hashes().Path()
	if t.Entries {
		path = strings.Replace(path, "tile/8/0/", "tile/8/entries/", 1)
	}
	return strings.Replace(path, "tile/8/", "tile/", 1)
}

// hashes returns the tile of hashes that t is, or whose entries t has.
func (t Tile) hashes() tlog.Tile {
	return tlog.Tile{H: tileHeight, L: t.Level, N: t.Number, W: t.Width}
}

// First returns the number of the first entry that the tile is about.
func (t Tile) First() int64 { return t.Number << (tileHeight * (t.Level + 1)) }

// In reports whether a tree of size records has all of the tile.
func (t Tile) In(size int64) bool {
	return (size>>(tileHeight*t.Level))-t.Number<<tileHeight >= int64(t.Width)
}

// Hashes returns the content of a tile of hashes; of a tile of entries, the hashes
// of these.
func (t Tile) Hashes(stored tlog.HashReader) ([]byte, error) {
	return tlog.ReadTileData(t.hashes(), stored)
}

// errTile is returned for what is no path of a tile.
var errTile = errors.New("not the path of a tile")

// ParseTilePath reads what [Tile.Path] returns, and nothing else.
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
	// Numbers are bounded so that no arithmetic on them overflows.
	if err != nil || h.L < 0 || h.L > 6 || h.N < 0 || h.N > math.MaxInt64>>(tileHeight*(h.L+1)) {
		return Tile{}, errTile
	}
	t := Tile{Level: h.L, Number: h.N, Width: h.W, Entries: isEntries}
	if t.Path() != path {
		return Tile{}, errTile
	}
	return t, nil
}

// Tiles returns the tiles of a log of size records: of its hashes and its entries.
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

// EncodeEntries returns the content of a tile of entries: each behind its length,
// in two bytes.
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
