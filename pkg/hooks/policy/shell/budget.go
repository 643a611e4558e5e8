package shell

// budget limits the work of one analysis. It owns the counters, and adds
// [DoubtTooLarge] to the analysis when a limit is reached.
type budget struct {
	out   *Analysis
	depth int // current nesting of scripts, statements and programs
	steps int
	bytes int // expanded and parsed
}

// enter begins a nested step and reports whether the budget allows it. If it
// does, the caller must call leave.
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

// exhausted reports whether all steps are used.
func (b *budget) exhausted() bool { return b.steps > maxSteps }

// spend counts n bytes and reports whether the budget allows them.
func (b *budget) spend(n int) bool {
	if b.bytes += n; b.bytes > maxBytes {
		b.out.doubt(DoubtTooLarge)
		return false
	}
	return true
}
