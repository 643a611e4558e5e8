package transparency

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
)

// These are the examples of the specification.
func TestTile_Path(t *testing.T) {
	for path, tile := range map[string]Tile{
		"tile/0/x001/x234/067":       {Number: 1234067, Width: TileWidth},
		"tile/3/000":                 {Level: 3, Width: TileWidth},
		"tile/1/004.p/12":            {Level: 1, Number: 4, Width: 12},
		"tile/entries/x001/x234/067": {Number: 1234067, Width: TileWidth, Entries: true},
		"tile/entries/000.p/1":       {Width: 1, Entries: true},
	} {
		if got := tile.Path(); got != path {
			t.Errorf("got %s, want %s", got, path)
		}
		if got, err := ParseTilePath(path); err != nil || got != tile {
			t.Errorf("%s: got %+v, %v, want %+v", path, got, err, tile)
		}
	}
}

func TestParseTilePath_Refuses(t *testing.T) {
	for _, path := range []string{
		"", "checkpoint", "tile/", "tile/0", "tile/0/0", "tile/0/1234067", "tile/0/001/234", "tile/00/000", "tile/64/000",
		"tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/01", "tile/0/-01", "tile/data/000", "tile/-1/000", "tile/entries/entries/000",
		"tile/0/../000", "/tile/0/000", "tile/0/000/", "tile/7/x999/x999/x999/x999/999", "tile/8/0/000",
		"tile/0/" + strings.Repeat("x999/", 20) + "999",
	} {
		if got, err := ParseTilePath(path); err == nil {
			t.Errorf("%q: got %+v", path, got)
		}
	}
}

func TestTiles(t *testing.T) {
	var got []string
	for _, tile := range Tiles(70000) {
		if tile.Width < TileWidth || tile.Level > 0 {
			got = append(got, tile.Path())
		}
		if !tile.In(70000) || tile.In(tile.First()) {
			t.Errorf("%s is in a tree of %d, or not in one of 70000", tile.Path(), tile.First())
		}
	}
	want := []string{ // from the specification
		"tile/0/x000/273.p/112", "tile/entries/x000/273.p/112", "tile/1/000", "tile/1/001.p/17", "tile/2/000.p/1",
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "x000/", "")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tiles (-want +got):\n%s", diff)
	}
	if n := len(Tiles(70000)); n != 2*274+3 {
		t.Errorf("got %d tiles, want %d", n, 2*274+3)
	}
	if n := len(Tiles(0)); n != 0 {
		t.Errorf("an empty log: got %d tiles", n)
	}
}

// The tile reader of x/mod finds every hash of the tree.
func TestTile_HashesAreThoseOfTheTree(t *testing.T) {
	m, root := tree(t, 700)
	tiles := tlog.TileHashReader(tlog.Tree{N: 700, Hash: root}, ownTiles{m})
	for n := range int64(700) {
		path, err := tlog.ProveRecord(700, n, tiles)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(path, 700, root, n, tlog.RecordHash(record(n))); err != nil {
			t.Fatal(err)
		}
	}
}

type ownTiles struct{ tree *memory }

func (ownTiles) Height() int { return tileHeight }

func (o ownTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	all := make([][]byte, len(tiles))
	for i, want := range tiles {
		t, err := ParseTilePath(strings.Replace(want.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		if all[i], err = t.Hashes(o.tree); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (ownTiles) SaveTiles([]tlog.Tile, [][]byte) {}

func TestEncodeEntries(t *testing.T) {
	want := [][]byte{record(1), {}, make([]byte, 65535)}
	data, err := EncodeEntries(want)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range want {
		n := int(binary.BigEndian.Uint16(data))
		if diff := cmp.Diff(e, data[2:2+n]); diff != "" {
			t.Errorf("entry %d (-want +got):\n%s", i, diff)
		}
		data = data[2+n:]
	}
	if _, err := EncodeEntries([][]byte{make([]byte, 65536)}); err == nil || len(data) > 0 {
		t.Errorf("too large: got %v; %d bytes are left", err, len(data))
	}
}

// An accepted path encodes to the same bytes, and some tree has the tile.
func FuzzParseTilePath(f *testing.F) {
	for _, path := range []string{"tile/0/x001/x234/067", "tile/1/004.p/12", "tile/entries/000.p/1", "tile/6/x127/999"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tile, err := ParseTilePath(path)
		if err != nil {
			return
		}
		if tile.Path() != path || tile.First() < 0 || tile.In(tile.First()) {
			t.Errorf("%q is taken for %+v, whose path is %q", path, tile, tile.Path())
		}
	})
}
