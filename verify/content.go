package verify

import "github.com/modelpatch/modelpatch/position"

const (
	// joinedPlaces is the number of equal bytes between two differing ones up to which both are
	// counted as one place: an element of a table rarely differs in all of its bytes.
	joinedPlaces = 8
	// mostPlaces is how many places Content lists.
	mostPlaces = 16
)

// Content is where the content of two parts of one size differs.
type Content struct {
	Bytes int64 // that differ
	Count int   // of places: runs of differing bytes, with at most 8 equal ones in between
	// Places are the first MostPlaces of these, [first, end) in bytes of the content.
	Places [][2]int64
}

// CompareContent compares the content of two parts of one size, read once in steps of 64 KiB.
func CompareContent(p, q position.Part) (c Content, err error) {
	end := int64(-1) // of the last place
	_, err = eachDifference(p, q, func(x, y []byte, at int64) bool {
		for i := range x {
			if x[i] == y[i] {
				continue
			}
			c.Bytes++
			b := at + int64(i)
			if end < 0 || b-end > joinedPlaces {
				if c.Count++; c.Count <= mostPlaces {
					c.Places = append(c.Places, [2]int64{b, b + 1})
				}
			} else if c.Count <= mostPlaces {
				c.Places[c.Count-1][1] = b + 1
			}
			end = b + 1
		}
		return true
	})
	return c, err
}
