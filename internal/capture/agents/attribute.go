package agents

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func ident(s string) string {
	if ingest.Usable(s) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

func document(v any) hooks.JSON {
	text, err := hooks.Marshal(v)
	if err != nil { // unreachable: payloads are plain data
		return ""
	}
	return text
}
