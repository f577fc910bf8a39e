package probe

import "testing"

// TestCrossed: names of an encoder's axes and values, and words in which "enc" stands as well.
func TestCrossed(t *testing.T) {
	for name, want := range map[string]bool{
		"encoder_sequence_length": true, "enc_len": true, "past_key_values.0.encoder.key": true, "cross_k_0": true, "encoded_length": true, "src_enc": true,
		"sequence_length": false, "past_sentence_length": false, "reference": false, "presence_mask": false, "utterance": false,
	} {
		if got := crossed().MatchString(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
