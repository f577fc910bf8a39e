package remote

import "slices"

// Sizes of what is fetched, in bytes.
const (
	// pageBytes is the unit of what is kept.
	pageBytes = 16 << 10
	// firstBytes is fetched when a file is opened: most small models whole.
	firstBytes = 10 * pageBytes
	// landingBytes is fetched where reading goes on elsewhere: the header of the next tensor.
	landingBytes = 2 * pageBytes
	// mostBytes bounds one request.
	mostBytes = 4 << 20
	// growth is how fast read-ahead grows while reading goes on: a vocabulary of 9 MB, whose strings
	// must be walked, takes five requests.
	growth = 3
)

const (
	// strideSlack is how far a step from one tensor to the next may differ from an earlier one:
	// names and lengths have more digits in later layers.
	strideSlack = 512
	// keptLandings bounds the places that are remembered.
	keptLandings = 1024
	// mostGuesses bounds how many places are fetched before they are asked for.
	mostGuesses = parallel
)

// ahead decides how much is fetched, from how a file was read so far. GGUF headers are read from
// front to back: what is fetched grows. An ONNX file has no index: its tensors form a chain in
// which each tells where the next begins, behind its own data. Layers repeat, so steps of
// that chain do: they are guessed, and fetched at the same time.
type ahead struct {
	end      int64   // of the last read
	next     int64   // bytes that the next fetch takes while reading goes on
	landings []int64 // where reading went on elsewhere, the latest last
	guessed  []int64 // where it was expected to
	width    int     // how many places are guessed
}

// read is told of a read of [off, end), and returns how many bytes from off on to fetch should
// they be missing, and where else reading is expected to go on.
func (a *ahead) read(off, end int64) (fetch int64, guesses []int64) {
	if a.next == 0 {
		a.next = firstBytes * growth
	}
	gap, goesOn := off-a.end, end > a.end
	a.end = end
	switch {
	case gap < 0 && !goesOn: // something that was read before, or lies before it
		return max(end-off, landingBytes), nil
	case gap > max(a.next/4, pageBytes):
		a.next = landingBytes
		a.land(off)
		return max(end-off, landingBytes), a.guessed
	case gap > pageBytes: // tensors that are small beside what is fetched
		fetch = a.next
		a.next = max(a.next-2*gap, landingBytes)
		return max(end-off, fetch), nil
	}
	return max(end-off, a.next), nil
}

// fetched is told that bytes of a read that went on had to be fetched.
func (a *ahead) fetched() { a.next = min(a.next*growth, mostBytes) }

// land notes that reading goes on at a place, and guesses where it will after that.
func (a *ahead) land(at int64) {
	near := func(guess int64) bool { return within(guess, at) }
	switch hit := slices.ContainsFunc(a.guessed, near); {
	case hit:
		a.width = min(max(2*a.width, 2), mostGuesses)
	case len(a.guessed) > 0:
		a.width /= 2
	default:
		a.width = max(a.width, 2)
	}
	if len(a.landings) == keptLandings {
		a.landings = slices.Delete(a.landings, 0, keptLandings/2)
	}
	a.landings = append(a.landings, at)
	a.guessed = a.guess(a.width)
}

// guess returns the next n places, by the latest two equal steps, or the latest one.
func (a *ahead) guess(n int) []int64 {
	last := len(a.landings) - 1
	step := func(i int) int64 { return a.landings[i] - a.landings[i-1] }
	match := 0
	for i := last - 1; i >= 1; i-- {
		if !within(step(i), step(last)) {
			continue
		}
		if match == 0 {
			match = i
		}
		if i >= 2 && within(step(i-1), step(last-1)) {
			match = i
			break
		}
	}
	if match == 0 {
		return nil
	}
	var out []int64
	at := a.landings[last]
	for k := match + 1; len(out) < n; k++ {
		if k > last {
			k = match + 1
		}
		at += step(k)
		out = append(out, at)
	}
	return out
}

func within(a, b int64) bool { return a-b <= strideSlack && b-a <= strideSlack }
