package replay

// Progress displays how much of a history has been replayed.
type Progress interface {
	// Set displays how many units are done. A total of 0 means that the total is unknown.
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
