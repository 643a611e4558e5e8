package shell

type budget struct {
	out   *Analysis
	depth int // current nesting of scripts, statements and programs
	steps int
	bytes int
	work  int
}

// After enter has returned true, the caller must call leave.
func (b *budget) enter() bool {
	b.steps++
	if b.work > maxWork {
		return false
	}
	if b.exhausted() || b.depth >= maxDepth {
		b.out.doubt(DoubtTooLarge)
		return false
	}
	b.depth++
	return true
}

func (b *budget) enterProgram(argv []Word, st *state) bool {
	n := 1
	for _, word := range argv {
		n += 1 + len(word.Text)/textPerWork
	}
	return b.charge(n) && b.chargeVars(st) && b.enter()
}

func (b *budget) leave() { b.depth-- }

func (b *budget) exhausted() bool { return b.steps > maxSteps || b.work > maxWork }

func (b *budget) charge(n int) bool {
	if b.work += n; b.work > maxWork {
		b.out.doubt(DoubtTooLong)
		return false
	}
	return true
}

func (b *budget) chargeVars(st *state) bool { return b.charge(1 + len(st.vars)/varsPerWork) }

func (b *budget) spend(n int) bool {
	if b.bytes += n; b.bytes > maxBytes {
		b.out.doubt(DoubtTooLarge)
		return false
	}
	return true
}
