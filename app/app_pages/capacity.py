import streamlit as st

st.title("capacity")
