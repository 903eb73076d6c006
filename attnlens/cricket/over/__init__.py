"""The forecast of the next over: an encoder-decoder, its cross-attention, and the tested
effects.
"""
