"""The taxonomy text format of Open Food Facts.

See https://wiki.openfoodfacts.org/Global_taxonomies.
"""
