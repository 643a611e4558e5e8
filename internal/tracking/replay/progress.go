package replay

// Progress displays the progress of a replay.
type Progress interface {
	// Set displays that done of total units are finished. A total of 0 means unknown.
	Set(done, total uint64)
	Finish()
}

func orSilent(p Progress) Progress {
	if p == nil {
		return silent{}
	}
	return p
}

type silent struct{}

// Set implements Progress.
func (silent) Set(uint64, uint64) {}

// Finish implements Progress.
func (silent) Finish() {}
