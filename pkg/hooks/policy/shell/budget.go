package shell

type budget struct {
	out   *Analysis
	depth int // current nesting of scripts, statements and programs
	steps int
	bytes int
}

// enter returns false if the analysis has reached a limit. After true, the caller must call leave.
func (b *budget) enter() bool {
	b.steps++
	if b.exhausted() || b.depth >= maxDepth {
		b.out.doubt(DoubtTooLarge)
		return false
	}
	b.depth++
	return true
}

func (b *budget) leave() { b.depth-- }

func (b *budget) exhausted() bool { return b.steps > maxSteps }

func (b *budget) spend(n int) bool {
	if b.bytes += n; b.bytes > maxBytes {
		b.out.doubt(DoubtTooLarge)
		return false
	}
	return true
}
