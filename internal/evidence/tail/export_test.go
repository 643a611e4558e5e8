package tail

// Remembered returns the number of runs in the memory of t.
func Remembered(t *Tail) int { return len(t.memory.runs) }
