package verifier_test

import (
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// These attacks change no record and no hash, but the layout in the tables, so that readers
// would find other bytes.
//
//guarantee:verify-layout
func TestGauntlet_SameBytesElsewhere(t *testing.T) {
	f, key := ledgertest.GauntletFeed(), ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 40)
	// The first four letters of an event, decoded from base64.
	content, err := base64.StdEncoding.DecodeString("spec")
	if err != nil {
		t.Fatal(err)
	}
	spec := string(content)
	for name, statements := range map[string][]string{
		"BlobThatNothingNames": {
			"INSERT INTO blobs SELECT 0, hash, content FROM (" + blobOf(spec) + ")",
			`UPDATE payloads SET bytes = CAST('{"' || substr(CAST(bytes AS TEXT), 7) AS BLOB), cut = 2 WHERE leaf = 0`,
		},
		"RecordThatIsNoChunkSplit": {
			"INSERT INTO blobs SELECT 7, hash, content FROM (" + blobOf(spec) + ")",
			`UPDATE payloads SET bytes = CAST('{"' || substr(CAST(bytes AS TEXT), 7) AS BLOB), cut = 2, blob = 7 WHERE leaf = 0`,
		},
		"ChunkJoined": {
			`UPDATE payloads SET bytes = CAST(replace(CAST(bytes AS TEXT), '"content":""', '"content":"Y29udGVudA=="') AS BLOB),
				blob = NULL, cut = NULL WHERE blob IS NOT NULL`,
			"DELETE FROM blobs", "DELETE FROM chunks",
		},
		"HashesShifted": {
			`UPDATE hashes SET bytes = CAST((SELECT substr(bytes, 8161) FROM hashes WHERE chunk = 1) || bytes AS BLOB)
				WHERE chunk = 2`,
			"UPDATE hashes SET bytes = substr(bytes, 1, 8160) WHERE chunk = 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			to, ok := ledgertest.Attack(t, path, statements...)
			if !ok {
				t.Fatal("the attack did not work")
			}
			before, err := ledgertest.Dump(path)
			if err != nil {
				t.Fatal(err)
			}
			if after, err := ledgertest.Dump(to); err != nil || after == before {
				t.Fatalf("the attack changed nothing: %v", err)
			}
			ledgertest.WantInvalid(t, to, key, name)
		})
	}
}

func blobOf(content string) string {
	return "SELECT x'" + events.HashOf([]byte(content)).String() + "' AS hash, x'" + hex.EncodeToString([]byte(content)) + "' AS content"
}
