package gauntlet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func (g *gauntlet) files(t *testing.T, v *victim) {
	t.Helper()
	thief := openKey(t, t.TempDir())
	for _, m := range []struct {
		name, what string
		change     mutation
		alone      string // required verdict if the key was stolen
	}{
		{"Edit", "an event edited", edit, "VERIFIED, GAPS (11)"},
		{"Delete", "an event deleted", remove, "VERIFIED, GAPS (11)"},
		{"Insert", "an event inserted", insert, "VERIFIED"},
		{"Double", "an event doubled", double, "VERIFIED"},
		{"Swap", "two events swapped", swap, "VERIFIED"},
		{"Truncate", "the tail cut off", truncate, "VERIFIED"},
	} {
		g.file(t, v, attack{
			name: m.name, what: m.what, has: "the file", alone: "INVALID (40)", kept: "INVALID (40)",
		}, m.change)
		g.file(t, v, attack{
			name: m.name + "Repaired", what: m.what + ", all hashes computed again", has: "the file",
			alone: "INVALID (40)", kept: "INVALID (40)",
		}, repaired(m.change, nil))
		g.file(t, v, attack{
			name: m.name + "OwnKey", what: m.what + ", all hashes computed again, signed with a key of their own", has: "the file",
			alone: "INVALID (40)", kept: "INVALID (40)",
		}, repaired(m.change, thief.signer))
		g.file(t, v, attack{
			name: m.name + "StolenKey", what: m.what + ", all hashes computed again, signed", has: "the file, the key",
			alone: m.alone, kept: "diverged (30)",
		}, repaired(m.change, v.key.signer))
	}
	g.file(t, v, attack{
		name: "TruncateSigned", what: "the tail cut off behind a checkpoint, with the later checkpoints", has: "the file",
		alone: "VERIFIED", kept: "diverged (30)",
	}, v.truncateSigned)
	g.bits(t, v)
	g.copies(t, v)
}

func repaired(change mutation, signer note.Signer) mutation {
	return func(f *file, r *rand.Rand) {
		change(f, r)
		f.repair(signer)
	}
}

// truncateSigned truncates the ledger to an older checkpoint.
func (v *victim) truncateSigned(f *file, r *rand.Rand) {
	c := v.signed[1+r.IntN(len(v.signed)-2)]
	f.do("DELETE FROM checkpoints WHERE checkpoint > ?", c.Number)
	f.cut(int64(c.Position.Sequence) + 1)
	f.repair(nil)
}

func (g *gauntlet) file(t *testing.T, v *victim, a attack, change mutation) {
	t.Helper()
	t.Run(a.name, func(t *testing.T) {
		r, row, dir := g.random(a.name), g.add(a), t.TempDir()
		for trial := range trials {
			path := copyFile(t, dir, v.path)
			f := open(t, path)
			f.do("PRAGMA synchronous=OFF")
			f.do("BEGIN")
			change(f, r)
			f.do("COMMIT")
			f.close(t)
			row.check(t, trial, row.verify(t, path, tenant, v.key, v.kept))
		}
	})
}

// bits flips single bits, fifty in each table.
func (g *gauntlet) bits(t *testing.T, v *victim) {
	t.Helper()
	a := attack{
		name: "BitFlip", what: "a bit of a value flipped, in each table", has: "the file",
		alone: "INVALID (40)", kept: "INVALID (40)",
	}
	t.Run(a.name, func(t *testing.T) {
		r, row, dir := g.random(a.name), g.add(a), t.TempDir()
		f := open(t, v.path)
		tables := f.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
		for _, table := range tables {
			columns := f.texts("SELECT name FROM pragma_table_info(?)", table)
			if f.ints("SELECT count(*) FROM " + table)[0] == 0 {
				continue
			}
			for done := 0; done < trials; {
				path := copyFile(t, dir, v.path)
				c := open(t, path)
				c.do("PRAGMA synchronous=OFF")
				flipped, sql := c.flip(r, table, pick(r, columns))
				c.close(t)
				if !flipped {
					continue // the schema does not allow it
				}
				done++
				if row.check(t, done, row.verify(t, path, tenant, v.key, v.kept)); t.Failed() {
					t.Fatalf("%s: %s", table, sql)
				}
			}
		}
		f.close(t)
	})
}

func (g *gauntlet) copies(t *testing.T, v *victim) {
	t.Helper()
	t.Run("Copies", func(t *testing.T) {
		swapped := g.add(attack{
			name: "OtherTenant", what: "the ledger of another tenant in its place", has: "the file",
			alone: "INVALID (40)", kept: "INVALID (40)",
		})
		older := g.add(attack{
			name: "OlderCopy", what: "an older copy restored", has: "the file",
			alone: "VERIFIED", kept: "diverged (30)",
		})
		r := g.random("Copies")
		for trial := range trials {
			swapped.check(t, trial, swapped.verify(t, v.foreign, tenant, v.key, v.kept))
			older.check(t, trial, older.verify(t, pick(r, v.older), tenant, v.key, v.kept))
		}
	})
}

// flip flips one bit of a value. It returns false if there is no value or the schema rejects the
// new one.
func (f *file) flip(r *rand.Rand, table, column string) (flipped bool, sql string) {
	f.tb.Helper()
	n := f.ints("SELECT count(*) FROM " + table)[0]
	key := f.texts("SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk)", table)[0]
	where := fmt.Sprintf("(%[1]s) = (SELECT %[1]s FROM %[2]s LIMIT 1 OFFSET %[3]d)", key, table, r.Int64N(n))
	kind := f.texts(fmt.Sprintf("SELECT typeof(%s) FROM %s WHERE %s", column, table, where))[0]
	var value string
	switch kind {
	case "integer":
		bit := int64(1) << r.IntN(40)
		value = fmt.Sprintf("(%[1]s | %[2]d) - (%[1]s & %[2]d)", column, bit)
	case "text", "blob":
		hex := f.texts(fmt.Sprintf("SELECT hex(%s) FROM %s WHERE %s", column, table, where))[0]
		if hex == "" {
			return false, ""
		}
		at, digit := r.IntN(len(hex)), 0
		if _, err := fmt.Sscanf(hex[at:at+1], "%X", &digit); err != nil {
			f.tb.Fatal(err)
		}
		value = fmt.Sprintf("CAST(x'%s%X%s' AS %s)", hex[:at], digit^1<<r.IntN(4), hex[at+1:], kind)
	default:
		return false, ""
	}
	sql = fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", table, column, value, where)
	return f.try(sql), sql
}
