package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

//guarantee:readers-check
func TestReader_ReportsAlteredRecords(t *testing.T) {
	f, key := ledgertest.GauntletFeed(), ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 40)
	entries := ledgertest.Leaves(t, path)
	for what, statement := range map[string]string{
		"a byte of the payload":      `UPDATE payloads SET bytes = CAST(replace(bytes, 'echo 1', 'echo 7') AS BLOB) WHERE leaf = 3`,
		"payload and hash":           `UPDATE payloads SET bytes = CAST('{}' AS BLOB) WHERE leaf = 3; UPDATE leaves SET hash = x'44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a' WHERE leaf = 3`,
		"the kind":                   `UPDATE leaves SET kind = 'custom' WHERE leaf = 3`,
		"the time":                   `UPDATE leaves SET time = '2026-01-01T00:00:00.000000000Z' WHERE leaf = 3`,
		"a time that is not one":     `UPDATE leaves SET time = 'x' WHERE leaf = 3`,
		"the payload, gone":          `DELETE FROM payloads WHERE leaf = 3`,
		"the hash, cut short":        `UPDATE leaves SET hash = x'00' WHERE leaf = 3`,
		"the word for what is gone ": `INSERT INTO erased VALUES (3, 'lost', 1)`,
	} {
		t.Run(what, func(t *testing.T) {
			to, ok := ledgertest.Attack(t, path, statement)
			if !ok {
				t.Fatal("SQLite refused the attack")
			}
			r := openReader(t, to)
			var wrong *ledger.RecordError
			read := 0
			for e, err := range r.After(t.Context(), -1) {
				if err != nil && (!errors.As(err, &wrong) || !errors.Is(err, ledger.ErrDamaged) || e.Leaf != 3) {
					t.Fatalf("leaf %d: %v", e.Leaf, err)
				}
				read++
			}
			if wrong == nil || wrong.Leaf != 3 || wrong.ID != entries[3].ID || wrong.ExitStatus() != verifier.ExitInvalid {
				t.Errorf("got %+v, want an error about leaf 3", wrong)
			}
			if read != len(entries) {
				t.Errorf("read %d of %d records", read, len(entries))
			}
			if _, _, err := r.Find(t.Context(), entries[3].ID); !errors.As(err, &wrong) {
				t.Errorf("Find: got %v", err)
			}
		})
	}
}

//guarantee:readers-check
func TestReader_CheckLeaves(t *testing.T) {
	f, key := ledgertest.GauntletFeed(), ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 40)
	size := int64(len(ledgertest.Leaves(t, path)))
	for what, tt := range map[string]struct {
		statement string
		missing   int64 // -1 if none
	}{
		"Intact":          {`DELETE FROM seen`, -1},
		"First":           {`DELETE FROM leaves WHERE leaf = 0`, 0},
		"Middle":          {`DELETE FROM leaves WHERE leaf BETWEEN 3 AND 5`, 3},
		"Last":            {fmt.Sprintf(`DELETE FROM leaves WHERE leaf = %d`, size-1), size - 1},
		"All":             {`DELETE FROM leaves`, 0},
		"Moved":           {`UPDATE leaves SET leaf = 9999 WHERE leaf = 3`, 3},
		"MovedInFront":    {`UPDATE leaves SET leaf = -1 WHERE leaf = 3`, 3},
		"MovedToLeafSize": {fmt.Sprintf(`UPDATE leaves SET leaf = %d WHERE leaf = 3`, size), 3},
	} {
		t.Run(what, func(t *testing.T) {
			to, ok := ledgertest.Attack(t, path, tt.statement)
			if !ok {
				t.Fatal("SQLite refused the attack")
			}
			err := openReader(t, to).CheckLeaves(t.Context())
			if tt.missing < 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wrong, ok := errors.AsType[*ledger.RecordError](err)
			if !ok || wrong.Leaf != tt.missing || !errors.Is(err, ledger.ErrDamaged) || wrong.ExitStatus() != verifier.ExitInvalid {
				t.Errorf("got %v, want leaf %d", err, tt.missing)
			}
		})
	}
}
