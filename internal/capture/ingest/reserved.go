package ingest

import (
	"errors"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrReserved reports an event of a kind that only Hooktrail's own services record.
var ErrReserved = errors.New("a reserved kind, which only Hooktrail's own services record")

// Reserved reports whether only Hooktrail's own services may create events of kind k.
func Reserved(k events.Kind) bool {
	switch k { //nolint:exhaustive // all other kinds come from outside
	case events.RunSealed, events.GapRecorded, events.BlobChunk:
		return true
	}
	return subjects.IsServiceKind(k)
}

func allKinds(events.Kind) bool { return false }

// reservedInHistory permits chunks of large values, because later events of a history refer to
// them.
func reservedInHistory(k events.Kind) bool { return k != events.BlobChunk && Reserved(k) }
