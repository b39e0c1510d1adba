"""Campaigns of many rooms behind nodes that are struck."""
