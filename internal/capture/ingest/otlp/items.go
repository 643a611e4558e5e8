package otlp

import (
	"errors"
	"fmt"
)

// maxItems limits the number of parts of a request, because an empty part takes 2 bytes in the
// request and several hundred bytes of memory.
const maxItems = 300_000

// ErrItems reports a request with too many items.
var ErrItems = fmt.Errorf("more than %d items, send smaller batches", maxItems)

// countItems must run before the decoder, so that a small body cannot use much memory.
func countItems(body []byte) error {
	n, inText := 0, false
	var lists []bool // for each open value, whether it is a list
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{', c == '[':
			lists = append(lists, c == '[')
			n++
		case c == '}', c == ']':
			lists = lists[:max(0, len(lists)-1)]
		case c == ',' && len(lists) > 0 && lists[len(lists)-1]:
			n++
		}
		if n > maxItems {
			return ErrItems
		}
	}
	return nil
}

type items int

var errNesting = errors.New("values nested too deep")

func (n *items) add(depth int) error {
	if depth > maxMessages {
		return fmt.Errorf("%w: %w", ErrDocument, errNesting)
	}
	if *n++; *n > maxItems {
		return ErrItems
	}
	return nil
}
