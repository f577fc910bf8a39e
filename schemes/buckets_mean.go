package schemes

// MeanRows are the rows of new buckets, one number a head: the mean of the old bias over the distances that
// fall into each, counted to the greater of the two greatest distances. A bucket that no
// distance reaches has the old row of its number, at most the last. bias is that of a head between a query and a
// key of so many positions, row that of an old bucket; their errors are returned.
func (to Buckets) MeanRows(from Buckets, bias func(head, query, key, positions int) (float64, error), row func(bucket int) ([]float64, error)) ([][]float64, error) {
	sum, count := make([][]float64, to.Buckets), make([]int, to.Buckets)
	for b := range sum {
		sum[b] = make([]float64, from.Heads)
	}
	// Of an old bucket every distance has the same bias: one stands for all.
	stands := map[int]int{}
	add := func(bucket, relative int) error {
		old := from.Bucket(relative)
		if _, ok := stands[old]; !ok {
			stands[old] = relative
		}
		for h := range from.Heads {
			query, key := 0, stands[old]
			if key < 0 {
				query, key = -key, 0
			}
			x, err := bias(h, query, key, max(query, key)+1)
			if err != nil {
				return err
			}
			sum[bucket][h] += x
		}
		count[bucket]++
		return nil
	}
	last := max(from.MaxDistance, to.MaxDistance)
	for distance := -last; distance <= last; distance++ {
		if !to.Bidirectional && distance > 0 {
			break // hidden
		}
		if err := add(to.Bucket(distance), distance); err != nil {
			return nil, err
		}
	}
	for b := range sum {
		if count[b] > 0 {
			for h := range sum[b] {
				sum[b][h] /= float64(count[b])
			}
			continue
		}
		old, err := row(min(b, from.Buckets-1))
		if err != nil {
			return nil, err
		}
		sum[b] = old
	}
	return sum, nil
}
