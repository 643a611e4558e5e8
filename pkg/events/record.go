package events

import "encoding/json"

func (e *Event) validateRecord(kind Kind) error {
	switch kind { //nolint:exhaustive // only these kinds have fields to check together
	case RunSealed:
		return validateAs(e.Data, func(p RunSealedData) error {
			if _, err := ParseHash(p.Digest); err != nil {
				return invalid("data.digest", err.Error())
			}
			if p.Count < 1 || p.Last < p.First || p.Count-1 > p.Last-p.First {
				return invalid("data.count", "not between 1 and what first and last hold")
			}
			return validateRange(p.First, p.Last)
		})
	case GapRecorded:
		return validateAs(e.Data, func(p GapRecordedData) error {
			if p.Reason == "" {
				return invalid("data.reason", "empty")
			}
			return validateRange(p.First, p.Last)
		})
	case BlobChunk:
		return validateAs(e.Data, func(p chunkHeader) error {
			if _, err := ParseHash(p.SHA256); err != nil {
				return invalid("data.sha256", err.Error())
			}
			if p.Index < 0 || p.Index >= p.Chunks {
				return invalid("data.index", "not between 0 and chunks")
			}
			return nil
		})
	}
	return nil
}

type chunkHeader struct {
	SHA256 string `json:"sha256"`
	Index  int    `json:"index"`
	Chunks int    `json:"chunks"`
}

func validateAs[T any](data json.RawMessage, judge func(T) error) error {
	var p T
	if err := json.Unmarshal(data, &p); err != nil {
		return invalid("data", "does not fit its payload type")
	}
	return judge(p)
}

func validateRange(first, last uint64) error {
	switch {
	case first == 0:
		return invalid("data.first", "sequences start at 1")
	case last < first:
		return invalid("data.last", "before first")
	}
	return nil
}
