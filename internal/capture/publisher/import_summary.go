package publisher

import (
	"maps"
	"slices"
)

// ImportSummary describes what [Import] has read and sent.
type ImportSummary struct {
	Counts
	Files        []FileSummary `json:"files"`
	Runs         []string      `json:"runs"`
	Malformed    int           `json:"malformed"`              // lines
	Lines        []Malformed   `json:"malformed_lines"`        // the first 1000 lines
	Skipped      []string      `json:"skipped,omitempty"`      // files of sub-agents next to given files
	Refused      []Refused     `json:"refused,omitempty"`      // named inputs that were not read
	Unrecognised []string      `json:"unrecognised,omitempty"` // the first 1000 files in folders
	Audited      Audited       `json:"audited,omitempty"`      // set by the command
	Sent         Sent          `json:"-"`
}

// FileSummary is the result of the import of one file.
type FileSummary struct {
	File   string `json:"file"`
	Format string `json:"format,omitempty"` // empty for an empty file
	Counts
	Contents
	Malformed int `json:"malformed"`
}

func (im *importer) summarise(sum *ImportSummary) {
	for _, f := range im.order {
		s := FileSummary{
			File: inputName(f.path), Format: f.format, Counts: f.feed.counts, Contents: f.feed.contents, Malformed: f.feed.malformed,
		}
		s.New, s.Changed, s.Known = f.fresh, f.edited, max(0, s.Known+s.New+s.Changed-f.fresh-f.edited)
		sum.Changed += s.Changed
		sum.Events, sum.New, sum.Known, sum.Records = sum.Events+s.Events, sum.New+s.New, sum.Known+s.Known, sum.Records+s.Records
		sum.Malformed += s.Malformed
		sum.Files = append(sum.Files, s)
		sum.Lines = append(sum.Lines, f.feed.list[:min(len(f.feed.list), maxMalformed-len(sum.Lines))]...)
	}
	sum.Refused = append(sum.Refused, im.refused...)
	for _, path := range im.unknown {
		if f := im.files[path]; f == nil || !f.recorded { // a later read may have recognised it
			sum.Unrecognised = append(sum.Unrecognised, path)
		}
	}
	sum.Runs = slices.Sorted(maps.Keys(im.runs))
}
