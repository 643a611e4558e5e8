package shell

type budget struct {
	out   *Analysis
	depth int // current nesting of scripts, statements and programs
	steps int
	bytes int
}

// enter begins a step of the analysis, which can be inside of another step. It returns false if a
// limit is reached, and the caller must then skip the step. Otherwise, the caller must call leave
// at the end of the step.
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
